package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.exception.transaction.CommitConflictException;
import com.scalar.db.exception.transaction.CrudConflictException;
import com.scalar.db.exception.transaction.TransactionException;
import com.scalar.db.exception.transaction.TransactionNotFoundException;
import com.scalar.db.exception.transaction.UnknownTransactionStatusException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * The two ways of bench/harness/drivers.ts to put load on a database, with a thread for each
 * worker. Closed: a worker begins its next transaction when its last one has ended. At a rate:
 * transactions are due at even distances whatever the database does, whichever worker is free takes
 * the next, and latency counts from when it was due. Attempts that began in time run to their end,
 * and the time that this takes counts; what ends in a conflict then stays unfinished, so that one
 * unlucky worker does not stretch a phase in which the others have nothing to do.
 */
final class Driver {
  /** After the last transaction was due, so much of the duration again is given to catch up. */
  private static final double CATCH_UP_SHARE = 0.5;

  /** After so many conflicts a transaction reads what it inserts: see Table. */
  private static final int BLIND_ATTEMPTS = 2;

  private final Settings settings;
  private final Database database;
  private final Workload workload;
  private final List<Worker> workers = new ArrayList<>();
  private final LongAdder committedInAll = new LongAdder();
  private final LongAdder unknownInAll = new LongAdder();

  Driver(Settings settings, Database database, Workload workload) {
    this.settings = settings;
    this.database = database;
    this.workload = workload;
    for (int i = 0; i < settings.concurrency; i++) workers.add(new Worker(i));
  }

  /** What was counted in the measured phase. */
  record Measured(
      Recorder recorder,
      double seconds,
      long unstarted,
      StoreMeter.Reading store,
      double processorSeconds) {}

  Measured run() throws InterruptedException {
    if (settings.warmUpSeconds > 0) phase(settings.warmUpSeconds);
    return phase(settings.seconds);
  }

  /**
   * So many transactions of the same kinds, one after the other, with the writes priced by rule;
   * null if none was asked for.
   */
  Measured sample() {
    if (settings.sampleTransactions == 0) return null;
    try (ItemSizes sizes = new ItemSizes(settings)) {
      StoreMeter.priceWritesBy(sizes);
      StoreMeter.Reading before = StoreMeter.read();
      Phase phase = new Phase(System.nanoTime(), Long.MAX_VALUE, null);
      Recorder recorder = new Recorder();
      Worker worker = workers.get(0);
      for (int i = 0; i < settings.sampleTransactions; i++) {
        Workload.Operation operation = workload.next(worker.random, worker.index);
        worker.operate(operation, System.nanoTime(), phase, recorder);
      }
      double elapsed = (System.nanoTime() - phase.startNanos) / 1e9;
      return new Measured(recorder, elapsed, 0, StoreMeter.read().since(before), 0);
    } finally {
      StoreMeter.priceWritesBy(null);
    }
  }

  /** Of all phases. */
  Workload.Tally tally() {
    return new Workload.Tally(committedInAll.sum(), unknownInAll.sum());
  }

  private Measured phase(double seconds) throws InterruptedException {
    StoreMeter.Reading before = StoreMeter.read();
    double processorBefore = processorSeconds();
    Phase phase = new Phase(System.nanoTime(), Math.round(seconds * 1e9), settings.rate);
    List<Thread> threads = new ArrayList<>();
    List<Recorder> recorders = new ArrayList<>();
    for (Worker worker : workers) {
      Recorder recorder = new Recorder();
      recorders.add(recorder);
      Thread thread = new Thread(() -> worker.work(phase, recorder), "worker-" + worker.index);
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) thread.join();
    double elapsed = (System.nanoTime() - phase.startNanos) / 1e9;
    Recorder all = new Recorder();
    recorders.forEach(all::add);
    return new Measured(
        all,
        elapsed,
        phase.unstarted(),
        StoreMeter.read().since(before),
        processorSeconds() - processorBefore);
  }

  private static double processorSeconds() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean system
        ? system.getProcessCpuTime() / 1e9
        : Double.NaN;
  }

  private static void sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  /** Says when the next transaction is due. */
  private static final class Phase {
    final long startNanos;
    private final long durationNanos;
    private final double intervalNanos;
    private final long count;
    private final AtomicLong next = new AtomicLong();

    Phase(long startNanos, long durationNanos, Double rate) {
      this.startNanos = startNanos;
      this.durationNanos = durationNanos;
      intervalNanos = rate == null ? 0 : 1e9 / rate;
      count = rate == null ? 0 : (long) Math.floor(durationNanos / intervalNanos);
    }

    /** Waits for it; -1 when the phase is over. */
    long nextDue() {
      if (isOver()) return -1;
      if (intervalNanos == 0) return System.nanoTime();
      long turn = next.getAndUpdate((taken) -> Math.min(count, taken + 1));
      if (turn >= count) return -1;
      long due = startNanos + Math.round(turn * intervalNanos);
      sleepUntil(due);
      return due;
    }

    /** Nothing is begun or tried again any more. */
    boolean isOver() {
      double share = intervalNanos == 0 ? 1 : 1 + CATCH_UP_SHARE;
      return System.nanoTime() - startNanos >= durationNanos * share;
    }

    long unstarted() {
      return count - next.get();
    }
  }

  private enum Fate {
    COMMITTED,
    ROLLED_BACK,
    CONFLICT,
    FAILED,
    UNKNOWN
  }

  private final class Worker {
    final int index;
    private final SplittableRandom random;
    private final SplittableRandom jitter;
    private TransactionException lastConflict;

    Worker(int index) {
      this.index = index;
      random = new SplittableRandom(settings.seed * 1_000_003L + index);
      jitter = random.split();
    }

    void work(Phase phase, Recorder recorder) {
      for (long due = phase.nextDue(); due != -1; due = phase.nextDue()) {
        Workload.Operation operation = workload.next(random, index);
        operate(operation, due, phase, recorder);
      }
    }

    private void operate(
        Workload.Operation operation, long due, Phase phase, Recorder recorder) {
      Recorder.Counts counts = recorder.of(operation.name());
      long deadline = System.nanoTime() + Math.round(settings.deadlineMs * 1e6);
      for (int attempt = 1; ; attempt++) {
        counts.attempts++;
        Table.READ_BEFORE_INSERT.set(attempt > BLIND_ATTEMPTS);
        Fate fate = attempt(operation, recorder);
        if (fate == Fate.CONFLICT) {
          counts.conflicts++;
          if (phase.isOver()) {
            counts.unfinished++;
            return;
          }
          if (attempt < settings.attemptsMax && System.nanoTime() < deadline) {
            backOff(attempt);
            continue;
          }
          recorder.error(lastConflict);
        }
        settle(counts, fate, attempt, System.nanoTime() - due);
        return;
      }
    }

    private void settle(Recorder.Counts counts, Fate fate, int attempt, long nanos) {
      switch (fate) {
        case COMMITTED -> {
          committedInAll.increment();
          counts.committed++;
        }
        case ROLLED_BACK -> counts.rolledBack++;
        case UNKNOWN -> {
          unknownInAll.increment();
          counts.unknown++;
        }
        case FAILED, CONFLICT -> counts.failures++;
      }
      if (fate != Fate.COMMITTED && fate != Fate.ROLLED_BACK) return;
      if (attempt == 1) counts.firstAttempts++;
      counts.latency(nanos);
    }

    /** Capped exponential backoff with full jitter, as engine/backoff.ts waits. */
    private void backOff(int attempt) {
      double ceiling =
          Math.min(
              settings.backoffCapMs,
              settings.backoffBaseMs * Math.pow(2, Math.min(attempt - 1, 30)));
      sleepUntil(System.nanoTime() + Math.round(jitter.nextDouble() * ceiling * 1e6));
    }

    /**
     * What ScalarDB's documentation says of each exception: which may be retried, and of which the
     * outcome is unknown.
     */
    private Fate attempt(Workload.Operation operation, Recorder recorder) {
      DistributedTransaction transaction = null;
      try {
        transaction = database.begin(operation.readOnly());
        operation.body().run(transaction);
        transaction.commit();
        return Fate.COMMITTED;
      } catch (CrudConflictException | CommitConflictException | TransactionNotFoundException e) {
        rollBack(transaction, recorder);
        lastConflict = e;
        return Fate.CONFLICT;
      } catch (Workload.RolledBack e) {
        rollBack(transaction, recorder);
        return Fate.ROLLED_BACK;
      } catch (UnknownTransactionStatusException e) {
        recorder.error(e);
        return Fate.UNKNOWN;
      } catch (TransactionException | RuntimeException e) {
        recorder.error(e);
        rollBack(transaction, recorder);
        return Fate.FAILED;
      }
    }

    private void rollBack(DistributedTransaction transaction, Recorder recorder) {
      if (transaction == null) return;
      try {
        transaction.rollback();
      } catch (TransactionException | RuntimeException e) {
        // What it left behind is recovered by whoever reads it next.
        recorder.error(e);
      }
    }
  }
}
