package tidemark.bench.scalardb;

import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.DistributedTransactionAdmin;
import com.scalar.db.api.DistributedTransactionManager;
import com.scalar.db.exception.storage.ExecutionException;
import com.scalar.db.exception.transaction.TransactionException;
import com.scalar.db.service.TransactionFactory;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * ScalarDB on DynamoDB: consensus commit, SERIALIZABLE; everything else as it comes unless the
 * command line says otherwise.
 */
final class Database implements AutoCloseable {
  /**
   * Autoscaling and point-in-time recovery are not there locally and have no bearing on what is
   * measured.
   */
  private static final Map<String, String> TABLE_OPTIONS =
      Map.of("no-scaling", "true", "no-backup", "true", "ru", "1000");

  private final Properties properties;
  private final DistributedTransactionManager manager;

  private Database(Properties properties) {
    this.properties = properties;
    manager = TransactionFactory.create(properties).getTransactionManager();
  }

  static Database forRuns(Settings settings) {
    Properties properties = common(settings);
    properties.setProperty("scalar.db.consensus_commit.isolation_level", "SERIALIZABLE");
    settings.effectiveProperties().forEach(properties::setProperty);
    return new Database(properties);
  }

  /**
   * For filling tables and for looking at them when nothing is under way. Inserts that read nothing
   * need no validation, so that a batch of them is one TransactWriteItems; the rows that result are
   * those of an ordinary commit.
   */
  static Database forQuietTimes(Settings settings) {
    Properties properties = common(settings);
    properties.setProperty("scalar.db.consensus_commit.isolation_level", "SNAPSHOT");
    properties.setProperty("scalar.db.consensus_commit.one_phase_commit.enabled", "true");
    properties.setProperty("scalar.db.scan_fetch_size", "100");
    return new Database(properties);
  }

  private static Properties common(Settings settings) {
    Properties properties = new Properties();
    properties.setProperty("scalar.db.storage", "dynamo");
    properties.setProperty("scalar.db.contact_points", settings.region);
    properties.setProperty("scalar.db.username", environment("AWS_ACCESS_KEY_ID"));
    properties.setProperty("scalar.db.password", environment("AWS_SECRET_ACCESS_KEY"));
    properties.setProperty("scalar.db.dynamo.endpoint_override", settings.endpoint);
    properties.setProperty("scalar.db.transaction_manager", "consensus-commit");
    return properties;
  }

  /** Any will do for DynamoDB Local. */
  static String environment(String name) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? "local" : value;
  }

  DistributedTransaction begin(boolean readOnly) throws TransactionException {
    return readOnly ? manager.beginReadOnly() : manager.begin();
  }

  /** Reads in one transaction. */
  <T> T read(Reader<T> reader) throws TransactionException {
    DistributedTransaction transaction = manager.beginReadOnly();
    T result = reader.read(transaction);
    transaction.commit();
    return result;
  }

  /** Makes something of what it reads. */
  interface Reader<T> {
    T read(DistributedTransaction transaction) throws TransactionException;
  }

  /** Leaves the given tables empty, and ScalarDB's own in place. */
  void recreate(List<Table> tables) throws Exception {
    DistributedTransactionAdmin admin = TransactionFactory.create(properties).getTransactionAdmin();
    // ScalarDB waits three seconds for each table; side by side they take about as long as one.
    ExecutorService pool = Executors.newFixedThreadPool(tables.size());
    try {
      admin.createCoordinatorTables(true, TABLE_OPTIONS);
      for (Table table : tables) admin.createNamespace(table.namespace(), true, TABLE_OPTIONS);
      List<Callable<Void>> work =
          tables.stream().<Callable<Void>>map(table -> () -> recreate(admin, table)).toList();
      for (Future<Void> done : pool.invokeAll(work)) done.get();
    } finally {
      pool.shutdownNow();
      admin.close();
    }
  }

  private static Void recreate(DistributedTransactionAdmin admin, Table table)
      throws ExecutionException {
    if (admin.tableExists(table.namespace(), table.name())) {
      admin.dropTable(table.namespace(), table.name());
    }
    admin.createTable(table.namespace(), table.name(), table.metadata(), TABLE_OPTIONS);
    return null;
  }

  @Override
  public void close() {
    manager.close();
  }
}
