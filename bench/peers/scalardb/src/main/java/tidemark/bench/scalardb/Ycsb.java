package tidemark.bench.scalardb;

import com.scalar.db.exception.transaction.TransactionException;
import com.scalar.db.io.DataType;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/**
 * bench/workloads/ycsb.ts in Java: YCSB A to F and pH1's mix, with the same rows, buckets, choices
 * and operations.
 */
final class Ycsb implements Workload {
  private static final int MANY_ROWS = 10;

  /** Each worker's own range of row numbers, whole buckets. */
  private static final int INSERTS_PER_WORKER = 1_000_000;

  private static final int CONTENT_VARIANTS = 997;

  private static final Map<String, Map<String, Double>> MIXES =
      Map.of(
          "ycsb-a", mix("read", 0.5, "update", 0.5),
          "ycsb-b", mix("read", 0.95, "update", 0.05),
          "ycsb-c", mix("read", 1.0),
          "ycsb-d", mix("read", 0.95, "insert", 0.05),
          "ycsb-e", mix("scan", 0.95, "insert", 0.05),
          "ycsb-f", mix("read", 0.5, "read-modify-write", 0.5),
          "ycsb-ph1", mix("read", 0.45, "scan", 0.3, "update", 0.125, "update-10", 0.125));

  private final Settings settings;
  private final Map<String, Double> mix;
  private final Table table;
  private final String[] fields;
  private final String content;
  private final Zipf zipf;

  /** Rows that each worker has inserted, in this run and before. */
  private final int[] inserted;

  /**
   * @throws IllegalArgumentException if there is no such workload or distribution
   */
  Ycsb(Settings settings) {
    this.settings = settings;
    mix = MIXES.get(settings.workload);
    if (mix == null) throw new IllegalArgumentException("no workload " + settings.workload);
    if (!Set.of("uniform", "zipfian", "latest").contains(settings.distribution)) {
      throw new IllegalArgumentException("no distribution " + settings.distribution);
    }
    if (settings.rows < MANY_ROWS || settings.rows % settings.bucketRows != 0) {
      throw new IllegalArgumentException("--rows must be whole buckets of --bucket-rows");
    }
    if (settings.scanRowsMax < 1 || settings.scanRowsMax > settings.bucketRows) {
      throw new IllegalArgumentException("--scan-rows-max must be from 1 to --bucket-rows");
    }
    fields = new String[settings.fields];
    for (int i = 0; i < fields.length; i++) fields[i] = "field" + i;
    table =
        Table.named("bench_ycsb", "ycsb")
            .partition("bucket", DataType.INT)
            .sort("row", DataType.INT)
            .columns(DataType.TEXT, fields)
            .build();
    content = content(CONTENT_VARIANTS + settings.fieldBytes);
    zipf = new Zipf(settings.rows, settings.theta);
    inserted = new int[settings.concurrency];
  }

  private static Map<String, Double> mix(Object... shares) {
    Map<String, Double> mix = new LinkedHashMap<>();
    for (int i = 0; i < shares.length; i += 2) mix.put((String) shares[i], (Double) shares[i + 1]);
    return mix;
  }

  @Override
  public List<Table> tables() {
    return List.of(table);
  }

  @Override
  public void rows(BiConsumer<Table, Map<String, Object>> insert) {
    for (int row = 0; row < settings.rows; row++) {
      Map<String, Object> values = contents(row);
      values.put("bucket", bucketOf(row));
      values.put("row", row);
      insert.accept(table, values);
    }
  }

  /**
   * Finds out how far earlier runs on these tables came with their inserts: ScalarDB refuses a row
   * that is there as a conflict.
   */
  @Override
  public void begin(Database database) throws TransactionException {
    if (!mix.containsKey("insert")) return;
    for (int worker = 0; worker < inserted.length; worker++) {
      int free = 1;
      while (isThere(database, firstInsert(worker) + free - 1)) free *= 2;
      int there = free / 2;
      while (free - there > 1) {
        int middle = (there + free) / 2;
        if (isThere(database, firstInsert(worker) + middle - 1)) there = middle;
        else free = middle;
      }
      inserted[worker] = there;
    }
  }

  private boolean isThere(Database database, int row) throws TransactionException {
    return database.read((read) -> table.get(read, bucketOf(row), row).isPresent());
  }

  @Override
  public Operation next(SplittableRandom random, int worker) {
    String kind = kind(random.nextDouble());
    int variant = random.nextInt(CONTENT_VARIANTS);
    return switch (kind) {
      case "read" -> read(row(random, worker));
      case "scan" -> {
        int rows = 1 + random.nextInt(settings.scanRowsMax);
        int bucket = bucketOf(row(random, worker));
        int from = bucket * settings.bucketRows + random.nextInt(settings.bucketRows - rows + 1);
        yield scan(bucket, new Table.Range(from, from + rows - 1));
      }
      case "update" -> update(row(random, worker), contents(variant));
      case "insert" -> insert(firstInsert(worker) + inserted[worker]++, contents(variant));
      case "read-modify-write" -> readModifyWrite(row(random, worker), contentOf(variant));
      default -> {
        Set<Integer> rows = new LinkedHashSet<>();
        while (rows.size() < MANY_ROWS) rows.add(row(random, worker));
        yield updateMany(rows, contents(variant));
      }
    };
  }

  private Operation read(int row) {
    return new Operation(
        "read", true, (transaction) -> table.get(transaction, bucketOf(row), row));
  }

  private Operation scan(int bucket, Table.Range rows) {
    return new Operation(
        "scan", true, (transaction) -> table.scan(transaction, bucket, rows, 0, false));
  }

  /** ScalarDB reads the row before it can write it, whether or not it is asked to. */
  private Operation update(int row, Map<String, Object> changes) {
    return new Operation(
        "update",
        false,
        (transaction) -> table.update(transaction, bucketOf(row), row, changes));
  }

  private Operation updateMany(Set<Integer> rows, Map<String, Object> changes) {
    return new Operation(
        "update-10",
        false,
        (transaction) -> {
          for (int row : rows) table.update(transaction, bucketOf(row), row, changes);
        });
  }

  private Operation insert(int row, Map<String, Object> values) {
    values.put("bucket", bucketOf(row));
    values.put("row", row);
    return new Operation("insert", false, (transaction) -> table.insert(transaction, values));
  }

  private Operation readModifyWrite(int row, String content) {
    return new Operation(
        "read-modify-write",
        false,
        (transaction) -> {
          table.require(transaction, bucketOf(row), row);
          table.update(transaction, bucketOf(row), row, Map.of(fields[0], content));
        });
  }

  private String kind(double drawn) {
    double left = drawn;
    for (Map.Entry<String, Double> share : mix.entrySet()) {
      left -= share.getValue();
      if (left < 0) return share.getKey();
    }
    return mix.keySet().iterator().next();
  }

  private int row(SplittableRandom random, int worker) {
    if (settings.distribution.equals("uniform")) return random.nextInt(settings.rows);
    int rank = zipf.rank(random);
    if (settings.distribution.equals("zipfian")) return Zipf.scattered(rank, settings.rows);
    int back = inserted[worker] - 1 - rank;
    return back >= 0 ? firstInsert(worker) + back : settings.rows + back;
  }

  private static int firstInsert(int worker) {
    return INSERTS_PER_WORKER * (1 + worker);
  }

  private int bucketOf(int row) {
    return row / settings.bucketRows;
  }

  private static String content(int length) {
    StringBuilder text = new StringBuilder();
    for (int n = 0; n < length; n++) text.append((char) (97 + (n * 31 + (n >> 3)) % 26));
    return text.toString();
  }

  private String contentOf(int variant) {
    int start = variant % CONTENT_VARIANTS;
    return content.substring(start, start + settings.fieldBytes);
  }

  private Map<String, Object> contents(int variant) {
    Map<String, Object> values = new HashMap<>();
    for (int i = 0; i < fields.length; i++) values.put(fields[i], contentOf(variant * (i + 1)));
    return values;
  }
}
