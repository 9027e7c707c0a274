package tidemark.bench.scalardb;

import static tidemark.bench.scalardb.TpccScale.between;
import static tidemark.bench.scalardb.TpccScale.percent;
import static tidemark.bench.scalardb.TpccScale.someDigits;
import static tidemark.bench.scalardb.TpccScale.someText;
import static tidemark.bench.scalardb.TpccScale.someTime;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/**
 * bench/workloads/tpcc/population.ts in Java: what stands in the tables at the start (clause
 * 4.3.3.1).
 */
final class TpccPopulation {
  /** What each customer has paid before the start, in cents. */
  private static final long FIRST_PAYMENT = 1_000;

  private final TpccScale scale;
  private final BiConsumer<Table, Map<String, Object>> insert;
  private final SplittableRandom random = new SplittableRandom(20_260_101);

  TpccPopulation(TpccScale scale, BiConsumer<Table, Map<String, Object>> insert) {
    this.scale = scale;
    this.insert = insert;
  }

  void insertAll() {
    for (int i = 1; i <= scale.items(); i++) {
      Map<String, Object> row = new HashMap<>();
      row.put("i", i);
      row.put("image", between(random, 1, 10_000));
      row.put("name", someText(random, 14, 24));
      row.put("price", between(random, 100, 10_000));
      row.put("data", someData());
      insert.accept(TpccTables.ITEMS, row);
    }
    for (int w = 1; w <= scale.warehouses(); w++) warehouse(w);
  }

  private void warehouse(int w) {
    Map<String, Object> warehouse = place();
    warehouse.put("w", w);
    warehouse.put("ytd", TpccScale.DISTRICTS * scale.customersPerDistrict() * FIRST_PAYMENT);
    insert.accept(TpccTables.WAREHOUSES, warehouse);
    int infos = TpccScale.DISTRICTS * TpccTables.DISTRICT_INFO_LENGTH;
    for (int i = 1; i <= scale.items(); i++) {
      Map<String, Object> row = new HashMap<>();
      row.put("stock", TpccTables.stockId(w, i));
      row.put("quantity", between(random, 10, 100));
      row.put("districtInfos", someText(random, infos, infos));
      row.put("ytd", 0);
      row.put("orderCount", 0);
      row.put("remoteCount", 0);
      row.put("data", someData());
      insert.accept(TpccTables.STOCKS, row);
    }
    for (int d = 1; d <= TpccScale.DISTRICTS; d++) district(w, d);
  }

  private void district(int w, int d) {
    String district = TpccTables.districtId(w, d);
    int count = scale.customersPerDistrict();
    Map<String, Object> row = place();
    row.put("district", district);
    row.put("ytd", count * FIRST_PAYMENT);
    row.put("nextOrder", count + 1);
    insert.accept(TpccTables.DISTRICTS, row);
    for (int c = 1; c <= count; c++) customer(w, d, c);
    insert.accept(
        TpccTables.NEW_ORDERS,
        Map.of("district", district, "o", 0, "delivered", scale.deliveredAtStart()));
    int[] buyers = shuffledUpTo(count);
    for (int o = 1; o <= count; o++) order(w, district, buyers[o - 1], o);
  }

  private void customer(int w, int d, int c) {
    String district = TpccTables.districtId(w, d);
    String first = someText(random, 8, 16);
    // So each name is somebody's.
    String last =
        c <= scale.lastNameCount()
            ? TpccScale.lastName(c - 1)
            : scale.someLastNameAtLoad(random);
    Map<String, Object> row = address();
    row.put("district", district);
    row.put("c", c);
    row.put("first", first);
    row.put("middle", "OE");
    row.put("last", last);
    row.put("phone", someDigits(random, 16));
    row.put("since", someTime(random));
    row.put("credit", percent(random, 10) ? "BC" : "GC");
    row.put("creditLimit", 5_000_000L);
    row.put("discount", between(random, 0, 5_000));
    row.put("balance", -FIRST_PAYMENT);
    row.put("ytdPayment", FIRST_PAYMENT);
    row.put("paymentCount", 1);
    row.put("deliveryCount", 0);
    row.put("data", someText(random, 300, 500));
    insert.accept(TpccTables.CUSTOMERS, row);
    // Two customers may share both names: the number keeps their rows apart.
    String name = TpccTables.nameId(district, last);
    insert.accept(
        TpccTables.CUSTOMER_NAMES, Map.of("name", name, "first", first + " " + c, "c", c));
    Map<String, Object> payment = new HashMap<>();
    payment.put("district", district);
    payment.put("payment", TpccTables.paymentId(c, 1));
    payment.put("c", c);
    payment.put("paidW", w);
    payment.put("paidD", d);
    payment.put("date", someTime(random));
    payment.put("amount", FIRST_PAYMENT);
    payment.put("data", someText(random, 12, 24));
    insert.accept(TpccTables.HISTORY, payment);
  }

  private void order(int w, String district, int c, int o) {
    String order = TpccTables.orderId(district, o);
    boolean delivered = o <= scale.deliveredAtStart();
    long entryDate = someTime(random);
    int lineCount = between(random, 5, 15);
    Map<String, Object> row = new HashMap<>();
    row.put("order", order);
    row.put("line", 0);
    row.put("c", c);
    row.put("entryDate", entryDate);
    if (delivered) row.put("carrier", between(random, 1, 10));
    row.put("lineCount", lineCount);
    row.put("allLocal", 1);
    insert.accept(TpccTables.ORDERS, row);
    String customer = TpccTables.customerId(district, c);
    insert.accept(TpccTables.CUSTOMER_ORDERS, Map.of("customer", customer, "o", o));
    if (!delivered) insert.accept(TpccTables.NEW_ORDERS, Map.of("district", district, "o", o));
    for (int line = 1; line <= lineCount; line++) {
      Map<String, Object> lineRow = new HashMap<>();
      lineRow.put("order", order);
      lineRow.put("line", line);
      lineRow.put("item", between(random, 1, scale.items()));
      lineRow.put("supplyW", w);
      if (delivered) lineRow.put("deliveryDate", entryDate);
      lineRow.put("quantity", 5);
      lineRow.put("amount", delivered ? 0L : (long) between(random, 1, 999_999));
      lineRow.put("districtInfo", someText(random, 24, 24));
      insert.accept(TpccTables.ORDERS, lineRow);
    }
  }

  private Map<String, Object> place() {
    Map<String, Object> row = address();
    row.put("name", someText(random, 6, 10));
    row.put("tax", between(random, 0, 2_000));
    return row;
  }

  private Map<String, Object> address() {
    Map<String, Object> row = new HashMap<>();
    row.put("street1", someText(random, 10, 20));
    row.put("street2", someText(random, 10, 20));
    row.put("city", someText(random, 10, 20));
    row.put("state", someText(random, 2, 2));
    row.put("zip", someDigits(random, 4) + "11111");
    return row;
  }

  /** One in ten says somewhere that it is the original. */
  private String someData() {
    String data = someText(random, 26, 50);
    if (!percent(random, 10)) return data;
    int at = random.nextInt(data.length() - 8);
    return data.substring(0, at) + "ORIGINAL" + data.substring(at + 8);
  }

  /** Each customer has placed one order, in random order. */
  private int[] shuffledUpTo(int count) {
    int[] numbers = new int[count];
    for (int i = 0; i < count; i++) numbers[i] = i + 1;
    for (int i = count - 1; i > 0; i--) {
      int at = random.nextInt(i + 1);
      int number = numbers[i];
      numbers[i] = numbers[at];
      numbers[at] = number;
    }
    return numbers;
  }
}
