package tidemark.bench.scalardb;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.HdrHistogram.Histogram;

/** The line of JSON; bench/peers/scalardb-result.ts says what it must look like. */
final class Report {
  private static final Gson GSON =
      new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private Report() {}

  static String ofLoad(Settings settings, Long rowsLoaded) {
    return GSON.toJson(head(settings, rowsLoaded));
  }

  static String ofRun(
      Settings settings,
      Long rowsLoaded,
      Driver.Measured measured,
      Driver.Measured sample,
      List<String> violations) {
    Map<String, Object> report = head(settings, rowsLoaded);
    Map<String, Object> operations = new LinkedHashMap<>();
    measured.recorder().operations().forEach((name, counts) -> operations.put(name, of(counts)));
    Recorder.Counts total = measured.recorder().total();
    Map<String, Object> run = new LinkedHashMap<>();
    run.put("seconds", measured.seconds());
    run.put("throughput", total.committed / measured.seconds());
    run.putAll(of(total));
    run.put("unstarted", measured.unstarted());
    run.put("operations", operations);
    run.put("store", of(measured.store(), total.committed));
    run.put("sample", sample == null ? null : sampleOf(sample));
    run.put("processorSeconds", measured.processorSeconds());
    run.put("errors", measured.recorder().errors());
    run.put("violations", violations);
    report.put("run", run);
    return GSON.toJson(report);
  }

  private static Map<String, Object> head(Settings settings, Long rowsLoaded) {
    Map<String, Object> head = new LinkedHashMap<>();
    head.put("system", "scalardb");
    head.put("version", version());
    head.put("workload", settings.workload);
    head.put("parameters", parametersOf(settings));
    head.put("concurrency", settings.concurrency);
    head.put("rate", settings.rate);
    head.put("warmUpSeconds", settings.warmUpSeconds);
    head.put("seed", settings.seed);
    head.put("profile", settings.profile.name());
    head.put("properties", settings.effectiveProperties());
    head.put("rowsLoaded", rowsLoaded);
    head.put("run", null);
    return head;
  }

  private static Map<String, Object> parametersOf(Settings settings) {
    Map<String, Object> parameters = new LinkedHashMap<>();
    if (settings.workload.startsWith("ycsb-")) {
      parameters.put("rows", settings.rows);
      parameters.put("fields", settings.fields);
      parameters.put("fieldBytes", settings.fieldBytes);
      parameters.put("bucketRows", settings.bucketRows);
      parameters.put("scanRowsMax", settings.scanRowsMax);
      parameters.put("distribution", settings.distribution);
      parameters.put("theta", settings.theta);
    } else if (settings.workload.equals("tpcc")) {
      parameters.put("warehouses", settings.warehouses);
      parameters.put("customersPerDistrict", settings.customersPerDistrict);
      parameters.put("items", settings.items);
      parameters.put("mix", settings.mix.isEmpty() ? Tpcc.STANDARD_MIX : settings.mix);
    }
    return parameters;
  }

  private static Map<String, Object> of(Recorder.Counts counts) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("committed", counts.committed);
    values.put("conflicts", counts.conflicts);
    values.put("failures", counts.failures);
    values.put("rolledBack", counts.rolledBack);
    values.put("unknown", counts.unknown);
    values.put("unfinished", counts.unfinished);
    values.put("attempts", counts.attempts);
    values.put("firstAttempts", counts.firstAttempts);
    values.put("latencyMs", of(counts.latency));
    return values;
  }

  private static Map<String, Object> of(Histogram latency) {
    if (latency.getTotalCount() == 0) return null;
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("p50", latency.getValueAtPercentile(50) / 1e3);
    values.put("p95", latency.getValueAtPercentile(95) / 1e3);
    values.put("p99", latency.getValueAtPercentile(99) / 1e3);
    values.put("max", latency.getMaxValue() / 1e3);
    values.put("mean", latency.getMean() / 1e3);
    values.put("histogram", encoded(latency));
    return values;
  }

  /** HDR, compressed, base64; microseconds: what hdr-histogram-js decodes. */
  private static String encoded(Histogram latency) {
    ByteBuffer buffer = ByteBuffer.allocate(latency.getNeededByteBufferCapacity());
    int length = latency.encodeIntoCompressedByteBuffer(buffer);
    byte[] bytes = new byte[length];
    buffer.flip();
    buffer.get(bytes);
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static Map<String, Object> of(StoreMeter.Reading store, long committed) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("calls", store.calls());
    values.put("transactItems", store.transactItems());
    values.put("readUnits", store.readUnits());
    values.put("writeUnits", store.writeUnits());
    if (committed == 0) return values;
    values.put("callsPerCommit", (double) store.callsInAll() / committed);
    values.put("readUnitsPerCommit", store.readUnits() / committed);
    values.put("writeUnitsPerCommit", store.writeUnits() / committed);
    return values;
  }

  /** Per commit, without any other transaction beside it. */
  private static Map<String, Object> sampleOf(Driver.Measured sample) {
    long committed = sample.recorder().total().committed;
    if (committed == 0) return null;
    StoreMeter.Reading store = sample.store();
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("committed", committed);
    values.put("callsPerCommit", (double) store.callsInAll() / committed);
    values.put("readUnitsPerCommit", store.readUnits() / committed);
    values.put("writeUnitsPerCommit", (double) store.writeUnitsByRule() / committed);
    return values;
  }

  private static String version() {
    try (InputStream in = Report.class.getResourceAsStream("/peer.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("scalardb.version");
    } catch (IOException e) {
      throw new IllegalStateException("the jar has no peer.properties", e);
    }
  }
}
