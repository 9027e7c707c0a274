package tidemark.bench.scalardb;

import com.scalar.db.exception.transaction.TransactionException;
import java.util.TreeMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/**
 * bench/workloads/tpcc/tpcc.ts in Java: TPC-C, revision 5.11, all five transactions; the same is
 * left out as there.
 */
final class Tpcc implements Workload {
  /** Clause 5.2.3: at least 43 % payments and 4 % of each other kind; the rest are new orders. */
  static final Map<String, Double> STANDARD_MIX =
      Map.of(
          "new-order", 45.0,
          "payment", 43.0,
          "order-status", 4.0,
          "delivery", 4.0,
          "stock-level", 4.0);

  private final TpccScale scale;
  private final Map<String, Double> mix = new TreeMap<>();
  private final double weights;

  /**
   * @throws IllegalArgumentException for a scale or a mix that makes no sense
   */
  Tpcc(Settings settings) {
    scale = new TpccScale(settings.warehouses, settings.customersPerDistrict, settings.items);
    (settings.mix.isEmpty() ? STANDARD_MIX : settings.mix).forEach(
        (kind, weight) -> {
          if (!STANDARD_MIX.containsKey(kind)) {
            throw new IllegalArgumentException("no transaction " + kind);
          }
          if (!(weight >= 0)) throw new IllegalArgumentException("a weight below 0: " + kind);
          mix.put(kind, weight);
        });
    weights = mix.values().stream().mapToDouble(Double::doubleValue).sum();
    if (!(weights > 0)) throw new IllegalArgumentException("no transaction has a weight");
  }

  @Override
  public List<Table> tables() {
    return TpccTables.ALL;
  }

  @Override
  public void rows(BiConsumer<Table, Map<String, Object>> insert) {
    new TpccPopulation(scale, insert).insertAll();
  }

  /**
   * A worker is a terminal: it has its home warehouse, and a district whose stock it looks after.
   */
  @Override
  public Operation next(SplittableRandom random, int worker) {
    int w = worker % scale.warehouses() + 1;
    int d = worker / scale.warehouses() % TpccScale.DISTRICTS + 1;
    String kind = kind(random.nextDouble() * weights);
    boolean readOnly = kind.equals("order-status") || kind.equals("stock-level");
    Body body =
        switch (kind) {
          case "new-order" -> new TpccNewOrder(scale, random, w);
          case "payment" -> new TpccPayment(scale, random, w);
          case "delivery" -> new TpccDelivery(random, w);
          case "order-status" -> new TpccOrderStatus(scale, random, w);
          default -> new TpccStockLevel(random, w, d);
        };
    return new Operation(kind, readOnly, body);
  }

  private String kind(double drawn) {
    double left = drawn;
    for (Map.Entry<String, Double> share : mix.entrySet()) {
      left -= share.getValue();
      if (left < 0) return share.getKey();
    }
    return mix.keySet().iterator().next();
  }

  @Override
  public List<String> violations(Database database, Tally tally) throws TransactionException {
    return new TpccConsistency(database, scale).violations();
  }
}
