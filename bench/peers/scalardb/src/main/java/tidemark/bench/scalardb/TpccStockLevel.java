package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * The stock-level transaction (clause 2.8.2): how many items of a district's last 20 orders run
 * low.
 */
final class TpccStockLevel implements Workload.Body {
  private static final int ORDERS_LOOKED_AT = 20;

  private final int w;
  private final int d;
  private final int threshold;

  TpccStockLevel(SplittableRandom random, int w, int d) {
    this.w = w;
    this.d = d;
    threshold = TpccScale.between(random, 10, 20);
  }

  @Override
  public void run(DistributedTransaction transaction) throws TransactionException {
    String district = TpccTables.districtId(w, d);
    int next = TpccTables.DISTRICTS.require(transaction, district, null).getInt("nextOrder");
    Set<Integer> sold = new LinkedHashSet<>();
    Table.Range lines = new Table.Range(1, null);
    for (int o = Math.max(1, next - ORDERS_LOOKED_AT); o < next; o++) {
      String order = TpccTables.orderId(district, o);
      for (Result line : TpccTables.ORDERS.scan(transaction, order, lines, 0, false)) {
        sold.add(line.getInt("item"));
      }
    }
    int low = 0;
    for (int item : sold) {
      Result stock = TpccTables.STOCKS.require(transaction, TpccTables.stockId(w, item), null);
      if (stock.getInt("quantity") < threshold) low++;
    }
    if (low > sold.size()) throw new IllegalStateException("more stocks run low than were sold");
  }
}
