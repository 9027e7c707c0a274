package tidemark.bench.scalardb;

import com.scalar.db.io.DataType;
import java.util.List;

/**
 * bench/workloads/tpcc/schema.ts in Java: the same tables, keys and columns, the two tables that
 * stand for indexes included: an index of ScalarDB's own on DynamoDB is read eventually and with a
 * second look, which would cost it more. ScalarDB has no lists, so a stock's ten texts of 24
 * characters stand one after the other in a column.
 */
final class TpccTables {
  static final int DISTRICT_INFO_LENGTH = 24;

  private static final String NAMESPACE = "bench_tpcc";

  static final Table WAREHOUSES =
      place(Table.named(NAMESPACE, "warehouses").partition("w", DataType.INT)).build();

  static final Table DISTRICTS =
      place(Table.named(NAMESPACE, "districts").partition("district", DataType.TEXT))
          .columns(DataType.INT, "nextOrder")
          .build();

  static final Table CUSTOMERS =
      Table.named(NAMESPACE, "customers")
          .partition("district", DataType.TEXT)
          .sort("c", DataType.INT)
          .columns(DataType.TEXT, "first", "middle", "last")
          .columns(DataType.TEXT, "street1", "street2", "city", "state", "zip")
          .columns(DataType.TEXT, "phone", "credit", "data")
          .columns(DataType.BIGINT, "since", "creditLimit", "balance", "ytdPayment")
          .columns(DataType.INT, "discount", "paymentCount", "deliveryCount")
          .build();

  static final Table CUSTOMER_NAMES =
      Table.named(NAMESPACE, "customer_names")
          .partition("name", DataType.TEXT)
          .sort("first", DataType.TEXT)
          .columns(DataType.INT, "c")
          .build();

  static final Table HISTORY =
      Table.named(NAMESPACE, "history")
          .partition("district", DataType.TEXT)
          .sort("payment", DataType.TEXT)
          .columns(DataType.INT, "c", "paidW", "paidD")
          .columns(DataType.BIGINT, "date", "amount")
          .columns(DataType.TEXT, "data")
          .build();

  /** Line 0 is the order itself. */
  static final Table ORDERS =
      Table.named(NAMESPACE, "orders")
          .partition("order", DataType.TEXT)
          .sort("line", DataType.INT)
          .columns(DataType.INT, "c", "carrier", "lineCount", "allLocal")
          .columns(DataType.INT, "item", "supplyW", "quantity")
          .columns(DataType.BIGINT, "entryDate", "deliveryDate", "amount")
          .columns(DataType.TEXT, "districtInfo")
          .build();

  static final Table CUSTOMER_ORDERS =
      Table.named(NAMESPACE, "customer_orders")
          .partition("customer", DataType.TEXT)
          .sort("o", DataType.INT)
          .build();

  /** Order 0 is the head: it says which order was delivered last. */
  static final Table NEW_ORDERS =
      Table.named(NAMESPACE, "new_orders")
          .partition("district", DataType.TEXT)
          .sort("o", DataType.INT)
          .columns(DataType.INT, "delivered")
          .build();

  static final Table ITEMS =
      Table.named(NAMESPACE, "items")
          .partition("i", DataType.INT)
          .columns(DataType.INT, "image", "price")
          .columns(DataType.TEXT, "name", "data")
          .build();

  static final Table STOCKS =
      Table.named(NAMESPACE, "stock")
          .partition("stock", DataType.TEXT)
          .columns(DataType.INT, "quantity", "ytd", "orderCount", "remoteCount")
          .columns(DataType.TEXT, "districtInfos", "data")
          .build();

  static final List<Table> ALL =
      List.of(
          WAREHOUSES,
          DISTRICTS,
          CUSTOMERS,
          CUSTOMER_NAMES,
          HISTORY,
          ORDERS,
          CUSTOMER_ORDERS,
          NEW_ORDERS,
          ITEMS,
          STOCKS);

  private TpccTables() {}

  private static Table.Builder place(Table.Builder builder) {
    return builder
        .columns(DataType.TEXT, "name", "street1", "street2", "city", "state", "zip")
        .columns(DataType.INT, "tax")
        .columns(DataType.BIGINT, "ytd");
  }

  static String districtId(int w, int d) {
    return w + "-" + d;
  }

  static String orderId(String district, int o) {
    return district + "-" + o;
  }

  static String customerId(String district, int c) {
    return district + "-" + c;
  }

  static String nameId(String district, String last) {
    return district + "-" + last;
  }

  static String paymentId(int c, int payment) {
    return "%04d-%08d".formatted(c, payment);
  }

  static String stockId(int w, int i) {
    return w + "-" + i;
  }
}
