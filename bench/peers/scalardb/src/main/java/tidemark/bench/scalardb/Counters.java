package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Result;
import com.scalar.db.exception.transaction.TransactionException;
import com.scalar.db.io.DataType;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * bench/workloads/counters.ts in Java: read-modify-writes of small rows. {@code u1}, {@code u4},
 * {@code u20}: so many random rows of 10,000; {@code contention-N}: four of N; {@code hot-row}: the
 * one row there is.
 */
final class Counters implements Workload {
  private static final int ROWS_DEFAULT = 10_000;
  private static final int SWEEP_KEYS = 4;
  private static final Pattern NAME = Pattern.compile("(u|contention-)([1-9][0-9]{0,6})");

  private final Table table;
  private final int rows;
  private final int keys;
  private long sumAtStart;

  private Counters(String table, int rows, int keys) {
    this.table =
        Table.named("bench_counters", table)
            .partition("id", DataType.INT)
            .columns(DataType.BIGINT, "count")
            .columns(DataType.TEXT, "owner", "currency")
            .build();
    this.rows = rows;
    this.keys = keys;
  }

  /**
   * @throws IllegalArgumentException if there is no such workload
   */
  static Counters named(String workload) {
    if (workload.equals("hot-row")) return new Counters("hot_row", 1, 1);
    Matcher matcher = NAME.matcher(workload);
    if (!matcher.matches()) throw new IllegalArgumentException("no workload " + workload);
    int number = Integer.parseInt(matcher.group(2));
    int rows = matcher.group(1).equals("u") ? ROWS_DEFAULT : number;
    int keys = matcher.group(1).equals("u") ? number : SWEEP_KEYS;
    if (keys > rows) throw new IllegalArgumentException("no workload " + workload);
    String table = rows == ROWS_DEFAULT ? "counters" : "contention_" + rows;
    return new Counters(table, rows, keys);
  }

  @Override
  public List<Table> tables() {
    return List.of(table);
  }

  @Override
  public void rows(BiConsumer<Table, Map<String, Object>> insert) {
    for (int id = 0; id < rows; id++) {
      String owner = "Customer %06d".formatted(id);
      insert.accept(table, Map.of("id", id, "count", 0L, "owner", owner, "currency", "EUR"));
    }
  }

  @Override
  public void begin(Database database) throws TransactionException {
    sumAtStart = sum(database);
  }

  @Override
  public Operation next(SplittableRandom random, int worker) {
    Set<Integer> ids = new LinkedHashSet<>();
    while (ids.size() < keys) ids.add(random.nextInt(rows));
    return new Operation("increment", false, (transaction) -> increment(transaction, ids));
  }

  /** One row after the other: ScalarDB's own batch is a loop, too. */
  private void increment(DistributedTransaction transaction, Set<Integer> ids)
      throws TransactionException {
    List<Result> counters = new ArrayList<>();
    for (int id : ids) counters.add(table.require(transaction, id, null));
    for (Result counter : counters) {
      long next = counter.getBigInt("count") + 1;
      table.update(transaction, counter.getInt("id"), null, Map.of("count", next));
    }
  }

  /** Every increment is there once; one whose outcome is unknown may be. */
  @Override
  public List<String> violations(Database database, Tally tally) throws TransactionException {
    long counted = sum(database) - sumAtStart;
    long atLeast = tally.committed() * keys;
    if (counted >= atLeast && counted <= atLeast + tally.unknown() * keys) return List.of();
    return List.of(
        "counters rose by %d in %d committed transactions of %d increments and %d of unknown "
            + "outcome"
            .formatted(counted, tally.committed(), keys, tally.unknown()));
  }

  private long sum(Database database) throws TransactionException {
    long sum = 0;
    for (int id = 0; id < rows; id++) {
      int key = id;
      sum += database.read((read) -> table.require(read, key, null).getBigInt("count"));
    }
    return sum;
  }
}
