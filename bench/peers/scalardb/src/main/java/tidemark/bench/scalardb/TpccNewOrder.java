package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.CrudException;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * The new-order transaction (clause 2.4.2): an order of five to fifteen lines, and its toll on the
 * stock.
 */
final class TpccNewOrder implements Workload.Body {
  private record Line(int item, int supplyW, int quantity) {}

  private final int w;
  private final int d;
  private final int c;
  private final long entryDate;
  private final List<Line> lines = new ArrayList<>();

  TpccNewOrder(TpccScale scale, SplittableRandom random, int w) {
    this.w = w;
    int lineCount = TpccScale.between(random, 5, 15);
    // One order in a hundred ends with an item that does not exist, and is rolled back.
    boolean mistaken = TpccScale.percent(random, 1);
    d = TpccScale.between(random, 1, TpccScale.DISTRICTS);
    c = scale.someCustomer(random);
    entryDate = TpccScale.someTime(random);
    for (int i = 0; i < lineCount; i++) {
      int item = scale.someItem(random);
      boolean remote = TpccScale.percent(random, 1);
      lines.add(
          new Line(
              mistaken && i == lineCount - 1 ? scale.items() + 1 : item,
              remote ? scale.otherWarehouse(random, w) : w,
              TpccScale.between(random, 1, 10)));
    }
  }

  /** A stock as this order leaves it: an item may stand in several lines. */
  private static final class Stock {
    final String districtInfos;
    int quantity;
    int ytd;
    int orderCount;
    int remoteCount;

    Stock(Result row) {
      districtInfos = row.getText("districtInfos");
      quantity = row.getInt("quantity");
      ytd = row.getInt("ytd");
      orderCount = row.getInt("orderCount");
      remoteCount = row.getInt("remoteCount");
    }

    /** Stock is refilled before it would fall below ten. */
    void take(Line line, boolean remote) {
      quantity += (quantity >= line.quantity + 10 ? 0 : 91) - line.quantity;
      ytd += line.quantity;
      orderCount += 1;
      if (remote) remoteCount += 1;
    }
  }

  @Override
  public void run(DistributedTransaction transaction)
      throws TransactionException, Workload.RolledBack {
    String district = TpccTables.districtId(w, d);
    TpccTables.WAREHOUSES.require(transaction, w, null);
    Result place = TpccTables.DISTRICTS.require(transaction, district, null);
    TpccTables.CUSTOMERS.require(transaction, district, c);
    Map<Integer, Integer> prices = readPrices(transaction);
    Map<String, Stock> stocks = readStocks(transaction);

    int o = place.getInt("nextOrder");
    TpccTables.DISTRICTS.update(transaction, district, null, Map.of("nextOrder", o + 1));
    insertOrder(transaction, district, o);
    for (int i = 0; i < lines.size(); i++) {
      Line line = lines.get(i);
      Integer price = prices.get(line.item);
      // Clause 2.4.1.4: what was done up to here is undone.
      if (price == null) throw new Workload.RolledBack("item " + line.item + " is not for sale");
      Stock stock = stocks.get(TpccTables.stockId(line.supplyW, line.item));
      stock.take(line, line.supplyW != w);
      insertLine(transaction, TpccTables.orderId(district, o), i + 1, price, stock);
    }
    for (Map.Entry<String, Stock> entry : stocks.entrySet()) {
      Stock stock = entry.getValue();
      Map<String, Object> changes = new HashMap<>();
      changes.put("quantity", stock.quantity);
      changes.put("ytd", stock.ytd);
      changes.put("orderCount", stock.orderCount);
      changes.put("remoteCount", stock.remoteCount);
      TpccTables.STOCKS.update(transaction, entry.getKey(), null, changes);
    }
  }

  private void insertOrder(DistributedTransaction transaction, String district, int o)
      throws CrudException {
    Map<String, Object> order = new HashMap<>();
    order.put("order", TpccTables.orderId(district, o));
    order.put("line", 0);
    order.put("c", c);
    order.put("entryDate", entryDate);
    order.put("lineCount", lines.size());
    order.put("allLocal", lines.stream().allMatch((line) -> line.supplyW == w) ? 1 : 0);
    TpccTables.ORDERS.insert(transaction, order);
    String customer = TpccTables.customerId(district, c);
    TpccTables.CUSTOMER_ORDERS.insert(transaction, Map.of("customer", customer, "o", o));
    TpccTables.NEW_ORDERS.insert(transaction, Map.of("district", district, "o", o));
  }

  private void insertLine(
      DistributedTransaction transaction, String order, int number, int price, Stock stock)
      throws CrudException {
    Line line = lines.get(number - 1);
    int infoAt = (d - 1) * TpccTables.DISTRICT_INFO_LENGTH;
    Map<String, Object> row = new HashMap<>();
    row.put("order", order);
    row.put("line", number);
    row.put("item", line.item);
    row.put("supplyW", line.supplyW);
    row.put("quantity", line.quantity);
    row.put("amount", (long) line.quantity * price);
    row.put(
        "districtInfo",
        stock.districtInfos.substring(infoAt, infoAt + TpccTables.DISTRICT_INFO_LENGTH));
    TpccTables.ORDERS.insert(transaction, row);
  }

  private Map<Integer, Integer> readPrices(DistributedTransaction transaction)
      throws CrudException {
    Map<Integer, Integer> prices = new HashMap<>();
    for (Line line : lines) {
      if (prices.containsKey(line.item)) continue;
      Optional<Result> item = TpccTables.ITEMS.get(transaction, line.item, null);
      prices.put(line.item, item.map((row) -> row.getInt("price")).orElse(null));
    }
    return prices;
  }

  private Map<String, Stock> readStocks(DistributedTransaction transaction) throws CrudException {
    Map<String, Stock> stocks = new LinkedHashMap<>();
    for (Line line : lines) {
      String id = TpccTables.stockId(line.supplyW, line.item);
      if (stocks.containsKey(id)) continue;
      Optional<Result> stock = TpccTables.STOCKS.get(transaction, id, null);
      if (stock.isPresent()) stocks.put(id, new Stock(stock.get()));
    }
    return stocks;
  }
}
