package tidemark.bench.scalardb;

import java.util.List;
import picocli.CommandLine;

/** Loads a workload's tables, runs it, and prints one line of JSON. */
public final class Main {
  private Main() {}

  /**
   * Exits with 2 for a command line that makes no sense, and with 1 for whatever else goes wrong.
   */
  public static void main(String[] arguments) throws Exception {
    Settings settings = new Settings();
    CommandLine commandLine = new CommandLine(settings);
    Workload workload;
    try {
      commandLine.parseArgs(arguments);
      if (commandLine.isUsageHelpRequested()) {
        commandLine.usage(System.out);
        return;
      }
      if (!settings.load && !settings.run) {
        throw new IllegalArgumentException("neither --load nor --run was given");
      }
      workload = workloadOf(settings);
    } catch (CommandLine.ParameterException | IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    String result = execute(settings, workload);
    System.out.println(result);
    // ScalarDB leaves threads behind that would keep the process for a while.
    System.exit(0);
  }

  private static Workload workloadOf(Settings settings) {
    if (settings.workload.equals("tpcc")) return new Tpcc(settings);
    return settings.workload.startsWith("ycsb-")
        ? new Ycsb(settings)
        : Counters.named(settings.workload);
  }

  private static String execute(Settings settings, Workload workload) throws Exception {
    try (Database quiet = Database.forQuietTimes(settings)) {
      Long rowsLoaded = settings.load ? Loader.load(quiet, workload) : null;
      if (!settings.run) return Report.ofLoad(settings, rowsLoaded);
      workload.begin(quiet);
      try (Database database = Database.forRuns(settings)) {
        Driver driver = new Driver(settings, database, workload);
        Driver.Measured measured = driver.run();
        Driver.Measured sample = driver.sample();
        List<String> violations = workload.violations(quiet, driver.tally());
        return Report.ofRun(settings, rowsLoaded, measured, sample, violations);
      }
    }
  }
}
