package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.CrudException;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The delivery transaction (clause 2.7.4): the oldest undelivered order of each of a warehouse's
 * ten districts, all in one transaction.
 */
final class TpccDelivery implements Workload.Body {
  private final int w;
  private final int carrier;
  private final long date;

  TpccDelivery(SplittableRandom random, int w) {
    this.w = w;
    carrier = TpccScale.between(random, 1, 10);
    date = TpccScale.someTime(random);
  }

  @Override
  public void run(DistributedTransaction transaction) throws TransactionException {
    for (int d = 1; d <= TpccScale.DISTRICTS; d++) {
      deliver(transaction, TpccTables.districtId(w, d));
    }
  }

  /** By condition 3 the queue has no gaps: its oldest order follows the last one delivered. */
  private void deliver(DistributedTransaction transaction, String district) throws CrudException {
    Result head = TpccTables.NEW_ORDERS.require(transaction, district, 0);
    int o = head.getInt("delivered") + 1;
    if (TpccTables.NEW_ORDERS.get(transaction, district, o).isEmpty()) return;
    String order = TpccTables.orderId(district, o);
    List<Result> rows =
        TpccTables.ORDERS.scan(transaction, order, Table.Range.ALL, 0, false);
    int c = rows.get(0).getInt("c");
    Result customer = TpccTables.CUSTOMERS.require(transaction, district, c);

    TpccTables.NEW_ORDERS.delete(transaction, district, o);
    TpccTables.NEW_ORDERS.update(transaction, district, 0, Map.of("delivered", o));
    TpccTables.ORDERS.update(transaction, order, 0, Map.of("carrier", carrier));
    long sum = 0;
    for (Result line : rows.subList(1, rows.size())) {
      sum += line.getBigInt("amount");
      TpccTables.ORDERS.update(
          transaction, order, line.getInt("line"), Map.of("deliveryDate", date));
    }
    TpccTables.CUSTOMERS.update(
        transaction,
        district,
        c,
        Map.of(
            "balance", customer.getBigInt("balance") + sum,
            "deliveryCount", customer.getInt("deliveryCount") + 1));
  }
}
