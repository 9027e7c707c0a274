package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/**
 * The same notion as in bench/harness/workload.ts: tables, what stands in them at start, and the
 * next transaction.
 */
interface Workload {
  List<Table> tables();

  /** Gives every row that stands in the tables at start. */
  void rows(BiConsumer<Table, Map<String, Object>> insert);

  /** Looks at what stands in the tables now. */
  default void begin(Database database) throws TransactionException {}

  /** The next transaction of one worker. */
  Operation next(SplittableRandom random, int worker);

  /**
   * Conditions that must hold after the run, each violation in one sentence.
   *
   * @param tally what this process committed since {@link #begin}, warm-up included
   */
  default List<String> violations(Database database, Tally tally) throws TransactionException {
    return List.of();
  }

  /** One transaction to run; the body may run more than once, and then does the same. */
  record Operation(String name, boolean readOnly, Body body) {}

  /** What a transaction does. */
  interface Body {
    void run(DistributedTransaction transaction) throws TransactionException, RolledBack;
  }

  /** How many transactions committed, and of how many it is unknown. */
  record Tally(long committed, long unknown) {}

  /** The benchmark's own, wanted rollback: neither a conflict nor a failure. */
  final class RolledBack extends Exception {
    private static final long serialVersionUID = 1L;

    RolledBack(String reason) {
      super(reason, null, false, false);
    }
  }
}
