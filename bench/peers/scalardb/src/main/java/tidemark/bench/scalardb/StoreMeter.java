package tidemark.bench.scalardb;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.SdkResponse;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.dynamodb.model.ConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.DeleteItemRequest;
import software.amazon.awssdk.services.dynamodb.model.DeleteItemResponse;
import software.amazon.awssdk.services.dynamodb.model.GetItemRequest;
import software.amazon.awssdk.services.dynamodb.model.GetItemResponse;
import software.amazon.awssdk.services.dynamodb.model.PutItemRequest;
import software.amazon.awssdk.services.dynamodb.model.PutItemResponse;
import software.amazon.awssdk.services.dynamodb.model.QueryRequest;
import software.amazon.awssdk.services.dynamodb.model.QueryResponse;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItemsRequest;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItemsResponse;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemResponse;

/**
 * Counts every call of the AWS SDK in this process, those that fail and those sent again included,
 * and what the store says that they cost. The SDK finds it by a file on the class path
 * (execution.interceptors), so ScalarDB runs unchanged.
 */
public final class StoreMeter implements ExecutionInterceptor {
  private static final Map<String, LongAdder> calls = new ConcurrentHashMap<>();
  private static final DoubleAdder readUnits = new DoubleAdder();
  private static final DoubleAdder writeUnits = new DoubleAdder();
  private static final LongAdder transactItems = new LongAdder();
  private static final LongAdder writeUnitsByRule = new LongAdder();
  private static final ExecutionAttribute<List<Integer>> SIZES_BEFORE =
      new ExecutionAttribute<>("sizesBefore");

  /** Set while writes are to be priced by rule; its own calls count nowhere. */
  private static volatile ItemSizes sizes;

  private static final ThreadLocal<Boolean> looking = ThreadLocal.withInitial(() -> false);

  static void priceWritesBy(ItemSizes itemSizes) {
    sizes = itemSizes;
  }

  /** All since the process started; subtract an earlier one. */
  record Reading(
      Map<String, Long> calls,
      double readUnits,
      double writeUnits,
      long transactItems,
      long writeUnitsByRule) {
    Reading since(Reading earlier) {
      Map<String, Long> difference = new TreeMap<>();
      calls.forEach(
          (name, count) -> {
            long more = count - earlier.calls.getOrDefault(name, 0L);
            if (more > 0) difference.put(name, more);
          });
      return new Reading(
          difference,
          readUnits - earlier.readUnits,
          writeUnits - earlier.writeUnits,
          transactItems - earlier.transactItems,
          writeUnitsByRule - earlier.writeUnitsByRule);
    }

    long callsInAll() {
      return calls.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  static Reading read() {
    Map<String, Long> counts = new TreeMap<>();
    calls.forEach((name, count) -> counts.put(name, count.sum()));
    return new Reading(
        counts,
        readUnits.sum(),
        writeUnits.sum(),
        transactItems.sum(),
        writeUnitsByRule.sum());
  }

  @Override
  public SdkRequest modifyRequest(Context.ModifyRequest context, ExecutionAttributes attributes) {
    ReturnConsumedCapacity total = ReturnConsumedCapacity.TOTAL;
    SdkRequest request = context.request();
    if (request instanceof GetItemRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    if (request instanceof QueryRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    if (request instanceof UpdateItemRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    if (request instanceof PutItemRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    if (request instanceof DeleteItemRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    if (request instanceof TransactWriteItemsRequest r) {
      return r.toBuilder().returnConsumedCapacity(total).build();
    }
    return request;
  }

  private static List<Integer> look(ItemSizes itemSizes, SdkRequest request) {
    looking.set(true);
    try {
      return itemSizes.of(request);
    } finally {
      looking.set(false);
    }
  }

  @Override
  public void beforeExecution(Context.BeforeExecution context, ExecutionAttributes attributes) {
    ItemSizes itemSizes = sizes;
    if (itemSizes == null || looking.get()) return;
    attributes.putAttribute(SIZES_BEFORE, look(itemSizes, context.request()));
  }

  /** Before each sending, so a call that the SDK repeats counts again. */
  @Override
  public void beforeTransmission(
      Context.BeforeTransmission context, ExecutionAttributes attributes) {
    if (looking.get()) return;
    SdkRequest request = context.request();
    String name = request.getClass().getSimpleName().replaceFirst("Request$", "");
    calls.computeIfAbsent(name, (key) -> new LongAdder()).increment();
    if (request instanceof TransactWriteItemsRequest r) {
      transactItems.add(r.transactItems().size());
    }
  }

  @Override
  public void afterExecution(Context.AfterExecution context, ExecutionAttributes attributes) {
    if (looking.get()) return;
    List<Integer> before = attributes.getAttribute(SIZES_BEFORE);
    ItemSizes itemSizes = sizes;
    if (before != null && itemSizes != null) {
      List<Integer> after = look(itemSizes, context.request());
      writeUnitsByRule.add(ItemSizes.units(context.request(), before, after));
    }
    SdkResponse response = context.response();
    if (response instanceof GetItemResponse r) reads(r.consumedCapacity());
    else if (response instanceof QueryResponse r) reads(r.consumedCapacity());
    else if (response instanceof UpdateItemResponse r) writes(r.consumedCapacity());
    else if (response instanceof PutItemResponse r) writes(r.consumedCapacity());
    else if (response instanceof DeleteItemResponse r) writes(r.consumedCapacity());
    else if (response instanceof TransactWriteItemsResponse r) {
      List<ConsumedCapacity> tables = r.consumedCapacity();
      tables.forEach(StoreMeter::writes);
    }
  }

  private static void reads(ConsumedCapacity consumed) {
    if (consumed != null && consumed.capacityUnits() != null) {
      readUnits.add(consumed.capacityUnits());
    }
  }

  private static void writes(ConsumedCapacity consumed) {
    if (consumed != null && consumed.capacityUnits() != null) {
      writeUnits.add(consumed.capacityUnits());
    }
  }
}
