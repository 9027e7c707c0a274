package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.CrudException;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The customer whom a terminal names by number or, three times in five, by last name (clauses
 * 2.5.2.2 and 2.6.2.2).
 *
 * @param last null if the number tells
 */
record TpccCustomerChoice(int c, String last) {
  static TpccCustomerChoice draw(TpccScale scale, SplittableRandom random) {
    return TpccScale.percent(random, 60)
        ? new TpccCustomerChoice(0, scale.someLastNameInRun(random))
        : new TpccCustomerChoice(scale.someCustomer(random), null);
  }

  /** Of several with the same last name, the one in the middle by first name, rounded up. */
  Result find(DistributedTransaction transaction, String district) throws CrudException {
    if (last == null) return TpccTables.CUSTOMERS.require(transaction, district, c);
    List<Result> named =
        TpccTables.CUSTOMER_NAMES.scan(
            transaction, TpccTables.nameId(district, last), Table.Range.ALL, 0, false);
    if (named.isEmpty()) {
      throw new IllegalStateException("no customer " + last + " in district " + district);
    }
    int middle = named.get((named.size() + 1) / 2 - 1).getInt("c");
    return TpccTables.CUSTOMERS.require(transaction, district, middle);
  }
}
