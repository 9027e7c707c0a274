package tidemark.bench.scalardb;

import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** Counts and latencies by kind of transaction, of one thread. */
final class Recorder {
  private static final int ERRORS_MAX = 5;

  /** Microseconds, up to ten minutes, three digits. */
  private static final long MICROSECONDS_MAX = 600_000_000L;

  private final Map<String, Counts> operations = new TreeMap<>();
  private final Map<String, Long> errors = new TreeMap<>();

  /** Of one kind of transaction. */
  static final class Counts {
    long committed;
    long conflicts;
    long failures;
    long rolledBack;
    long unknown;
    /** Transactions whose last attempt was a conflict when the time was over. */
    long unfinished;
    final Histogram latency = new Histogram(MICROSECONDS_MAX, 3);

    long attempts;
    /** Transactions that ended as wanted on their first attempt. */
    long firstAttempts;

    void latency(long nanos) {
      latency.recordValue(Math.min(MICROSECONDS_MAX, Math.max(0, nanos / 1_000)));
    }

    void add(Counts other) {
      committed += other.committed;
      conflicts += other.conflicts;
      failures += other.failures;
      rolledBack += other.rolledBack;
      unknown += other.unknown;
      unfinished += other.unfinished;
      attempts += other.attempts;
      firstAttempts += other.firstAttempts;
      latency.add(other.latency);
    }
  }

  Counts of(String operation) {
    return operations.computeIfAbsent(operation, (name) -> new Counts());
  }

  /**
   * Errors of a kind are kept once: by class and message, without what is particular to one
   * transaction.
   */
  void error(Throwable error) {
    String text = String.valueOf(error.getMessage()).replaceAll("[0-9a-f]{8}-[0-9a-f-]{27,}", "…");
    String kind = error.getClass().getSimpleName() + ": " + text;
    if (errors.size() < ERRORS_MAX || errors.containsKey(kind)) errors.merge(kind, 1L, Long::sum);
  }

  void add(Recorder other) {
    other.operations.forEach((name, counts) -> of(name).add(counts));
    other.errors.forEach((kind, count) -> errors.merge(kind, count, Long::sum));
  }

  Counts total() {
    Counts total = new Counts();
    operations.values().forEach(total::add);
    return total;
  }

  Map<String, Counts> operations() {
    return operations;
  }

  Map<String, Long> errors() {
    return errors;
  }
}
