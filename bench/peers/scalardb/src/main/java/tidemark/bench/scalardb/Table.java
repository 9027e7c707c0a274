package tidemark.bench.scalardb;

import com.scalar.db.api.Delete;
import com.scalar.db.api.DistributedTransaction;
import com.scalar.db.api.Get;
import com.scalar.db.api.Insert;
import com.scalar.db.api.InsertBuilder;
import com.scalar.db.api.Result;
import com.scalar.db.api.Scan;
import com.scalar.db.api.ScanBuilder;
import com.scalar.db.api.TableMetadata;
import com.scalar.db.api.Update;
import com.scalar.db.api.UpdateBuilder;
import com.scalar.db.exception.transaction.CrudException;
import com.scalar.db.io.DataType;
import com.scalar.db.io.Key;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A table as the other contestants have it: one partition key, at most one sort key, and columns.
 * Values are {@code Integer}, {@code Long}, {@code Double} and {@code String}. Only what ScalarDB
 * recommends is called: insert, update and delete, no put.
 */
final class Table {
  private final String namespace;
  private final String name;
  private final String partitionKey;
  private final String sortKey;
  private final Map<String, DataType> columns;

  private Table(Builder builder) {
    namespace = builder.namespace;
    name = builder.name;
    partitionKey = builder.partitionKey;
    sortKey = builder.sortKey;
    columns = new LinkedHashMap<>(builder.columns);
  }

  static Builder named(String namespace, String name) {
    return new Builder(namespace, name);
  }

  /** Collects columns in the order in which they are named. */
  static final class Builder {
    private final String namespace;
    private final String name;
    private final Map<String, DataType> columns = new LinkedHashMap<>();
    private String partitionKey;
    private String sortKey;

    private Builder(String namespace, String name) {
      this.namespace = namespace;
      this.name = name;
    }

    Builder partition(String column, DataType type) {
      partitionKey = column;
      columns.put(column, type);
      return this;
    }

    Builder sort(String column, DataType type) {
      sortKey = column;
      columns.put(column, type);
      return this;
    }

    Builder columns(DataType type, String... names) {
      for (String column : names) columns.put(column, type);
      return this;
    }

    Table build() {
      return new Table(this);
    }
  }

  String namespace() {
    return namespace;
  }

  String name() {
    return name;
  }

  TableMetadata metadata() {
    TableMetadata.Builder builder = TableMetadata.newBuilder();
    columns.forEach(builder::addColumn);
    builder.addPartitionKey(partitionKey);
    if (sortKey != null) builder.addClusteringKey(sortKey, Scan.Ordering.Order.ASC);
    return builder.build();
  }

  Optional<Result> get(DistributedTransaction transaction, Object partition, Object sort)
      throws CrudException {
    var builder =
        Get.newBuilder()
            .namespace(namespace)
            .table(name)
            .partitionKey(key(partitionKey, partition));
    return transaction.get(
        sort == null ? builder.build() : builder.clusteringKey(key(sortKey, sort)).build());
  }

  /** A row that the benchmark's rules promise to be there. */
  Result require(DistributedTransaction transaction, Object partition, Object sort)
      throws CrudException {
    return get(transaction, partition, sort)
        .orElseThrow(
            () -> new IllegalStateException(name + " has no row " + partition + ", " + sort));
  }

  /** Rows of one partition; both ends belong to the range, and null leaves one open. */
  List<Result> scan(
      DistributedTransaction transaction,
      Object partition,
      Range range,
      int limit,
      boolean descending)
      throws CrudException {
    ScanBuilder.BuildableScan builder =
        Scan.newBuilder()
            .namespace(namespace)
            .table(name)
            .partitionKey(key(partitionKey, partition))
            .ordering(descending ? Scan.Ordering.desc(sortKey) : Scan.Ordering.asc(sortKey));
    if (range.from() != null) builder = builder.start(key(sortKey, range.from()));
    if (range.to() != null) builder = builder.end(key(sortKey, range.to()));
    if (limit > 0) builder = builder.limit(limit);
    return transaction.scan(builder.build());
  }

  /** Both ends included; null is open. */
  record Range(Object from, Object to) {
    static final Range ALL = new Range(null, null);
  }

  /**
   * ScalarDB's insert does not look at what stands there. Rows that an aborted transaction
   * prepared, and whose rollback failed (another transaction had recovered one of the rows that it
   * wanted to roll back at once), are recovered by whoever reads them, so an insert alone would
   * meet the same conflict for ever.
   */
  static final ThreadLocal<Boolean> READ_BEFORE_INSERT = ThreadLocal.withInitial(() -> false);

  void insert(DistributedTransaction transaction, Map<String, Object> row) throws CrudException {
    if (READ_BEFORE_INSERT.get()) {
      get(transaction, row.get(partitionKey), sortKey == null ? null : row.get(sortKey));
    }
    transaction.insert(insertOf(row));
  }

  private Insert insertOf(Map<String, Object> row) {
    var head =
        Insert.newBuilder()
            .namespace(namespace)
            .table(name)
            .partitionKey(key(partitionKey, row.get(partitionKey)));
    InsertBuilder.Buildable builder =
        sortKey == null ? head : head.clusteringKey(key(sortKey, row.get(sortKey)));
    for (Map.Entry<String, Object> entry : row.entrySet()) {
      String column = entry.getKey();
      if (column.equals(partitionKey) || column.equals(sortKey)) continue;
      builder =
          switch (typeOf(column)) {
            case INT -> builder.intValue(column, (Integer) entry.getValue());
            case BIGINT -> builder.bigIntValue(column, (Long) entry.getValue());
            case DOUBLE -> builder.doubleValue(column, (Double) entry.getValue());
            default -> builder.textValue(column, (String) entry.getValue());
          };
    }
    return builder.build();
  }

  /**
   * Changes some columns of a row that is there; ScalarDB reads it first if this transaction has
   * not.
   */
  void update(
      DistributedTransaction transaction,
      Object partition,
      Object sort,
      Map<String, Object> changes)
      throws CrudException {
    var head =
        Update.newBuilder()
            .namespace(namespace)
            .table(name)
            .partitionKey(key(partitionKey, partition));
    UpdateBuilder.Buildable builder =
        sortKey == null ? head : head.clusteringKey(key(sortKey, sort));
    for (Map.Entry<String, Object> entry : changes.entrySet()) {
      String column = entry.getKey();
      builder =
          switch (typeOf(column)) {
            case INT -> builder.intValue(column, (Integer) entry.getValue());
            case BIGINT -> builder.bigIntValue(column, (Long) entry.getValue());
            case DOUBLE -> builder.doubleValue(column, (Double) entry.getValue());
            default -> builder.textValue(column, (String) entry.getValue());
          };
    }
    transaction.update(builder.build());
  }

  void delete(DistributedTransaction transaction, Object partition, Object sort)
      throws CrudException {
    var head =
        Delete.newBuilder()
            .namespace(namespace)
            .table(name)
            .partitionKey(key(partitionKey, partition));
    transaction.delete(
        sortKey == null ? head.build() : head.clusteringKey(key(sortKey, sort)).build());
  }

  private DataType typeOf(String column) {
    DataType type = columns.get(column);
    if (type == null) throw new IllegalStateException(name + " has no column " + column);
    return type;
  }

  private Key key(String column, Object value) {
    return switch (typeOf(column)) {
      case INT -> Key.ofInt(column, (Integer) value);
      case BIGINT -> Key.ofBigInt(column, (Long) value);
      default -> Key.ofText(column, (String) value);
    };
  }

  List<String> columnNames() {
    return new ArrayList<>(columns.keySet());
  }
}
