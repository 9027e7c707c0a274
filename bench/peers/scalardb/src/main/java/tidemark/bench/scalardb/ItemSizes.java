package tidemark.bench.scalardb;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.DeleteItemRequest;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItemsRequest;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

/**
 * Looks up how large the items of a write are, so that it can be priced by DynamoDB's rule: a unit
 * for each KB of the larger of old and new item, twice that in a TransactWriteItems. Too slow for a
 * measured phase: for a sample after it.
 */
final class ItemSizes implements AutoCloseable {
  private static final int UNIT_BYTES = 1_024;

  private final DynamoDbClient client;

  ItemSizes(Settings settings) {
    AwsBasicCredentials credentials =
        AwsBasicCredentials.create(
            Database.environment("AWS_ACCESS_KEY_ID"),
            Database.environment("AWS_SECRET_ACCESS_KEY"));
    client =
        DynamoDbClient.builder()
            .endpointOverride(URI.create(settings.endpoint))
            .region(Region.of(settings.region))
            .credentialsProvider(StaticCredentialsProvider.create(credentials))
            .build();
  }

  /** One item that a request writes. */
  private record Target(String table, Map<String, AttributeValue> key) {}

  /** Sizes in bytes of the items that a request writes, in its order; empty for other requests. */
  List<Integer> of(SdkRequest request) {
    List<Integer> sizes = new ArrayList<>();
    for (Target target : targets(request)) {
      Map<String, AttributeValue> item =
          client
              .getItem((get) -> get.tableName(target.table).key(target.key).consistentRead(true))
              .item();
      sizes.add(bytes(item));
    }
    return sizes;
  }

  static long units(SdkRequest request, List<Integer> before, List<Integer> after) {
    long units = 0;
    for (int i = 0; i < before.size(); i++) {
      int larger = Math.max(1, Math.max(before.get(i), after.get(i)));
      units += (larger + UNIT_BYTES - 1) / UNIT_BYTES;
    }
    return request instanceof TransactWriteItemsRequest ? 2 * units : units;
  }

  private static List<Target> targets(SdkRequest request) {
    if (request instanceof UpdateItemRequest r) return List.of(new Target(r.tableName(), r.key()));
    if (request instanceof DeleteItemRequest r) return List.of(new Target(r.tableName(), r.key()));
    if (request instanceof TransactWriteItemsRequest r) {
      return r.transactItems().stream().map(ItemSizes::target).toList();
    }
    return List.of();
  }

  private static Target target(TransactWriteItem item) {
    if (item.update() != null) return new Target(item.update().tableName(), item.update().key());
    if (item.delete() != null) return new Target(item.delete().tableName(), item.delete().key());
    throw new IllegalStateException("ScalarDB writes in a way that was not foreseen: " + item);
  }

  private static int bytes(Map<String, AttributeValue> item) {
    int sum = 0;
    for (Map.Entry<String, AttributeValue> entry : item.entrySet()) {
      sum += utf8(entry.getKey()) + bytes(entry.getValue());
    }
    return sum;
  }

  /** A number takes about a byte for two digits, and one more. */
  private static int bytes(AttributeValue value) {
    return switch (value.type()) {
      case S -> utf8(value.s());
      case N -> value.n().length() / 2 + 1;
      case B -> value.b().asByteArrayUnsafe().length;
      case NUL, BOOL -> 1;
      default -> throw new IllegalStateException("ScalarDB stores a " + value.type());
    };
  }

  private static int utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  @Override
  public void close() {
    client.close();
  }
}
