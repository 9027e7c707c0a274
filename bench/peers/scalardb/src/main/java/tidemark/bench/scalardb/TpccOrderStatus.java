package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.List;
import java.util.SplittableRandom;

/** The order-status transaction (clause 2.6.2): a customer's balance and last order. */
final class TpccOrderStatus implements Workload.Body {
  private final int w;
  private final int d;
  private final TpccCustomerChoice choice;

  TpccOrderStatus(TpccScale scale, SplittableRandom random, int w) {
    this.w = w;
    d = TpccScale.between(random, 1, TpccScale.DISTRICTS);
    choice = TpccCustomerChoice.draw(scale, random);
  }

  @Override
  public void run(DistributedTransaction transaction) throws TransactionException {
    String district = TpccTables.districtId(w, d);
    Result customer = choice.find(transaction, district);
    List<Result> newest =
        TpccTables.CUSTOMER_ORDERS.scan(
            transaction,
            TpccTables.customerId(district, customer.getInt("c")),
            Table.Range.ALL,
            1,
            true);
    if (newest.isEmpty()) return;
    String order = TpccTables.orderId(district, newest.get(0).getInt("o"));
    TpccTables.ORDERS.scan(transaction, order, Table.Range.ALL, 0, false);
  }
}
