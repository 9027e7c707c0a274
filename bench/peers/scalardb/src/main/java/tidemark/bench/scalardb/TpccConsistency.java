package tidemark.bench.scalardb;

import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Conditions 1, 2, 3, 5, 6, 7 and 12 of TPC-C (clause 3.3.2): evidence that what was measured were
 * transactions.
 */
final class TpccConsistency {
  private final Database database;
  private final TpccScale scale;
  private final List<String> found = new ArrayList<>();

  TpccConsistency(Database database, TpccScale scale) {
    this.database = database;
    this.scale = scale;
  }

  List<String> violations() throws TransactionException {
    for (int w = 1; w <= scale.warehouses(); w++) {
      int number = w;
      long ytd =
          database.read((tx) -> TpccTables.WAREHOUSES.require(tx, number, null).getBigInt("ytd"));
      long inDistricts = 0;
      for (int d = 1; d <= TpccScale.DISTRICTS; d++) {
        inDistricts += districtYtd(TpccTables.districtId(w, d));
      }
      equal("Condition 1, warehouse " + w, ytd, inDistricts);
    }
    return found;
  }

  private long districtYtd(String id) throws TransactionException {
    Result district = database.read((tx) -> TpccTables.DISTRICTS.require(tx, id, null));
    int newest = district.getInt("nextOrder") - 1;
    Set<Integer> queue = new HashSet<>();
    int delivered = 0;
    for (Result row : rows(TpccTables.NEW_ORDERS, id)) {
      if (row.getInt("o") == 0) delivered = row.getInt("delivered");
      else queue.add(row.getInt("o"));
    }
    equal("Conditions 2 and 3, new orders of district " + id, queue.size(), newest - delivered);
    Map<Integer, Long> goods = new HashMap<>();
    for (int o = 1; o <= newest; o++) order(id, o, queue.contains(o), goods);
    boolean beyond = !rows(TpccTables.ORDERS, TpccTables.orderId(id, newest + 1)).isEmpty();
    equal("Condition 2, orders beyond the newest of district " + id, beyond ? 1 : 0, 0);
    for (Result customer : rows(TpccTables.CUSTOMERS, id)) {
      int c = customer.getInt("c");
      long sum = customer.getBigInt("balance") + customer.getBigInt("ytdPayment");
      equal("Condition 12, customer " + id + "-" + c, sum, goods.getOrDefault(c, 0L));
    }
    return district.getBigInt("ytd");
  }

  private void order(String district, int o, boolean queued, Map<Integer, Long> goods)
      throws TransactionException {
    String id = TpccTables.orderId(district, o);
    List<Result> rows = rows(TpccTables.ORDERS, id);
    if (rows.isEmpty() || rows.get(0).getInt("line") != 0) {
      found.add("Condition 2, order " + id + ": it is missing.");
      return;
    }
    Result order = rows.get(0);
    boolean undelivered = order.isNull("carrier");
    equal("Condition 5, order " + id, queued ? 1 : 0, undelivered ? 1 : 0);
    equal("Condition 6, order " + id, order.getInt("lineCount"), rows.size() - 1);
    for (Result line : rows.subList(1, rows.size())) {
      boolean undated = line.isNull("deliveryDate");
      equal("Condition 7, order " + id, undated ? 1 : 0, undelivered ? 1 : 0);
      if (!undated) goods.merge(order.getInt("c"), line.getBigInt("amount"), Long::sum);
    }
  }

  private List<Result> rows(Table table, String partition) throws TransactionException {
    return database.read((tx) -> table.scan(tx, partition, Table.Range.ALL, 0, false));
  }

  private void equal(String what, long one, long other) {
    if (one != other) found.add("%s: %d is not %d.".formatted(what, one, other));
  }
}
