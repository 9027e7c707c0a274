package tidemark.bench.scalardb;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command line. */
@Command(name = "scalardb-peer", sortOptions = false)
final class Settings {
  @Option(names = "--endpoint", required = true, description = "where DynamoDB answers")
  String endpoint;

  @Option(names = "--region", description = "AWS region (default: ${DEFAULT-VALUE})")
  String region = "us-east-1";

  @Option(
      names = "--workload",
      required = true,
      description = "ycsb-a to ycsb-f, ycsb-ph1, hot-row, u1, u4, u20, contention-N or tpcc")
  String workload;

  @Option(names = "--load", description = "drops, makes and fills the workload's tables")
  boolean load;

  @Option(names = "--run", description = "runs the workload on tables filled before")
  boolean run;

  @Option(names = "--concurrency", description = "threads (default: ${DEFAULT-VALUE})")
  int concurrency = 8;

  @Option(names = "--seconds", description = "measured (default: ${DEFAULT-VALUE})")
  double seconds = 10;

  @Option(names = "--warm-up-seconds", description = "before it (default: ${DEFAULT-VALUE})")
  double warmUpSeconds = 5;

  @Option(
      names = "--rate",
      description = "transactions per second, all threads (default: closed loop)")
  Double rate;

  @Option(
      names = "--sample-transactions",
      description =
          "run after the measured phase to price writes by rule (default: "
          + "${DEFAULT-VALUE})")
  int sampleTransactions = 50;

  @Option(names = "--seed", description = "of all that is drawn (default: ${DEFAULT-VALUE})")
  long seed = 1;

  @Option(names = "--attempts-max", description = "of one transaction (default: ${DEFAULT-VALUE})")
  int attemptsMax = 1_000;

  @Option(
      names = "--deadline-ms",
      description = "of one transaction's retries (default: ${DEFAULT-VALUE})")
  double deadlineMs = 30_000;

  @Option(names = "--backoff-base-ms", description = "full jitter (default: ${DEFAULT-VALUE})")
  double backoffBaseMs = 5;

  @Option(names = "--backoff-cap-ms", description = "full jitter (default: ${DEFAULT-VALUE})")
  double backoffCapMs = 500;

  @Option(
      names = "--profile",
      description =
          "tuned: one-phase commit where it can, scans in one page; plain: as it comes "
          + "(default: ${DEFAULT-VALUE})")
  Profile profile = Profile.tuned;

  /** Named as on the command line. */
  enum Profile {
    /** ScalarDB's own defaults. */
    plain(Map.of()),
    /**
     * What its documentation offers to make it faster and costs no guarantee: transactions that
     * need no validation write once, and scans are not cut into pages of ten rows.
     */
    tuned(
        Map.of(
            "scalar.db.consensus_commit.one_phase_commit.enabled", "true",
            "scalar.db.scan_fetch_size", "100"));

    final Map<String, String> properties;

    Profile(Map<String, String> properties) {
      this.properties = properties;
    }
  }

  /** The profile's, and over them those of the command line. */
  Map<String, String> effectiveProperties() {
    Map<String, String> effective = new TreeMap<>(profile.properties);
    effective.putAll(properties);
    return effective;
  }

  @Option(
      names = "--property",
      description =
          "any property of ScalarDB, as "
          + "scalar.db.consensus_commit.async_commit.enabled=true")
  Map<String, String> properties = new LinkedHashMap<>();

  @Option(names = "--rows", description = "ycsb: rows (default: ${DEFAULT-VALUE})")
  int rows = 10_000;

  @Option(names = "--fields", description = "ycsb: fields of a row (default: ${DEFAULT-VALUE})")
  int fields = 10;

  @Option(
      names = "--field-bytes",
      description = "ycsb: bytes of a field (default: ${DEFAULT-VALUE})")
  int fieldBytes = 100;

  @Option(
      names = "--bucket-rows",
      description = "ycsb: rows of a partition (default: ${DEFAULT-VALUE})")
  int bucketRows = 100;

  @Option(
      names = "--scan-rows-max",
      description = "ycsb: rows of a scan (default: ${DEFAULT-VALUE})")
  int scanRowsMax = 100;

  @Option(
      names = "--distribution",
      description = "ycsb: uniform, zipfian or latest (default: ${DEFAULT-VALUE})")
  String distribution = "uniform";

  @Option(names = "--theta", description = "ycsb: Zipf's exponent (default: ${DEFAULT-VALUE})")
  double theta = 0.99;

  @Option(names = "--warehouses", description = "tpcc: warehouses (default: ${DEFAULT-VALUE})")
  int warehouses = 2;

  @Option(
      names = "--customers-per-district",
      description =
          "tpcc: customers, and orders at start, of a district (default: ${DEFAULT-VALUE})")
  int customersPerDistrict = 100;

  @Option(names = "--items", description = "tpcc: items (default: ${DEFAULT-VALUE})")
  int items = 1_000;

  @Option(
      names = "--mix",
      split = ",",
      description =
          "tpcc: weights (default: "
          + "new-order=45,payment=43,order-status=4,delivery=4,stock-level=4)")
  Map<String, Double> mix = new LinkedHashMap<>();

  @Option(names = "--help", usageHelp = true, description = "prints this")
  boolean help;
}
