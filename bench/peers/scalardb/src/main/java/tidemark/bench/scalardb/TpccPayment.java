package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The payment transaction (clause 2.5.2): money for a warehouse and a district, from a customer of
 * any.
 */
final class TpccPayment implements Workload.Body {
  private static final int CUSTOMER_DATA_MAX = 500;

  private final int w;
  private final int d;
  private final int customerW;
  private final int customerD;
  private final TpccCustomerChoice choice;
  private final long amount;
  private final long date;

  TpccPayment(TpccScale scale, SplittableRandom random, int w) {
    this.w = w;
    d = TpccScale.between(random, 1, TpccScale.DISTRICTS);
    boolean remote = scale.warehouses() > 1 && TpccScale.percent(random, 15);
    customerW = remote ? scale.otherWarehouse(random, w) : w;
    customerD = remote ? TpccScale.between(random, 1, TpccScale.DISTRICTS) : d;
    choice = TpccCustomerChoice.draw(scale, random);
    amount = TpccScale.between(random, 100, 500_000);
    date = TpccScale.someTime(random);
  }

  @Override
  public void run(DistributedTransaction transaction) throws TransactionException {
    String district = TpccTables.districtId(w, d);
    String home = TpccTables.districtId(customerW, customerD);
    Result warehouse = TpccTables.WAREHOUSES.require(transaction, w, null);
    Result place = TpccTables.DISTRICTS.require(transaction, district, null);
    Result customer = choice.find(transaction, home);
    int c = customer.getInt("c");
    int payments = customer.getInt("paymentCount") + 1;

    TpccTables.WAREHOUSES.update(
        transaction, w, null, Map.of("ytd", warehouse.getBigInt("ytd") + amount));
    TpccTables.DISTRICTS.update(
        transaction, district, null, Map.of("ytd", place.getBigInt("ytd") + amount));
    Map<String, Object> paying = new HashMap<>();
    paying.put("balance", customer.getBigInt("balance") - amount);
    paying.put("ytdPayment", customer.getBigInt("ytdPayment") + amount);
    paying.put("paymentCount", payments);
    if ("BC".equals(customer.getText("credit"))) paying.put("data", dataWith(customer));
    TpccTables.CUSTOMERS.update(transaction, home, c, paying);
    Map<String, Object> history = new HashMap<>();
    history.put("district", home);
    history.put("payment", TpccTables.paymentId(c, payments));
    history.put("c", c);
    history.put("paidW", w);
    history.put("paidD", d);
    history.put("date", date);
    history.put("amount", amount);
    history.put("data", warehouse.getText("name") + "    " + place.getText("name"));
    TpccTables.HISTORY.insert(transaction, history);
  }

  /** A customer with bad credit carries the record of all payments, the newest first. */
  private String dataWith(Result customer) {
    String data =
        "%d %d %d %d %d %d|%s"
            .formatted(
                customer.getInt("c"), customerD, customerW, d, w, amount, customer.getText("data"));
    return data.substring(0, Math.min(data.length(), CUSTOMER_DATA_MAX));
  }
}
