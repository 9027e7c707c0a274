package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.exception.transaction.TransactionException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Fills tables through ScalarDB's own transactions, several at a time. */
final class Loader {
  /** DynamoDB takes 100 items and 4 MB in a TransactWriteItems. */
  private static final int BATCH_ROWS = 50;

  private static final int THREADS = 4;

  private record Row(Table table, Map<String, Object> values) {}

  private final Database database;
  private final ArrayBlockingQueue<List<Row>> batches = new ArrayBlockingQueue<>(2 * THREADS);
  private List<Row> batch = new ArrayList<>();
  private long rows;

  private Loader(Database database) {
    this.database = database;
  }

  /** How many rows it inserted. */
  static long load(Database database, Workload workload) throws Exception {
    database.recreate(workload.tables());
    return new Loader(database).fill(workload);
  }

  private long fill(Workload workload) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<Void>> consumers = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) consumers.add(pool.submit(this::consume));
      workload.rows((table, values) -> add(new Row(table, values), consumers));
      if (!batch.isEmpty()) offer(batch, consumers);
      for (int i = 0; i < THREADS; i++) offer(List.of(), consumers);
      for (Future<Void> consumer : consumers) consumer.get();
      return rows;
    } finally {
      pool.shutdownNow();
    }
  }

  private void add(Row row, List<Future<Void>> consumers) {
    batch.add(row);
    rows++;
    if (batch.size() < BATCH_ROWS) return;
    offer(batch, consumers);
    batch = new ArrayList<>();
  }

  /** Waits for room, but not for threads that failed. */
  private void offer(List<Row> full, List<Future<Void>> consumers) {
    try {
      while (!batches.offer(full, 1, TimeUnit.SECONDS)) {
        for (Future<Void> consumer : consumers) if (consumer.isDone()) consumer.get();
      }
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException("loading failed", e);
    }
  }

  private Void consume() throws Exception {
    for (List<Row> next = batches.take(); !next.isEmpty(); next = batches.take()) insert(next);
    return null;
  }

  private void insert(List<Row> rows) throws TransactionException {
    DistributedTransaction transaction = database.begin(false);
    for (Row row : rows) row.table().insert(transaction, row.values());
    transaction.commit();
  }
}
