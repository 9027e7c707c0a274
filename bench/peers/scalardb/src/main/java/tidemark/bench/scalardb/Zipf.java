package tidemark.bench.scalardb;

import java.util.SplittableRandom;

/**
 * bench/workloads/zipf.ts in Java: ranks by Zipf's law after J. Gray et al. (SIGMOD 1994), as YCSB
 * draws them.
 */
final class Zipf {
  /** About the golden section of 2^32; prime, so it divides no count below itself. */
  private static final long STRIDE = 2_654_435_761L;

  private final int count;
  private final double zetaOfTwo;
  private final double zetaOfAll;
  private final double alpha;
  private final double eta;

  Zipf(int count, double exponent) {
    this.count = count;
    zetaOfTwo = zeta(2, exponent);
    zetaOfAll = zeta(count, exponent);
    alpha = 1 / (1 - exponent);
    eta = (1 - Math.pow(2.0 / count, 1 - exponent)) / (1 - zetaOfTwo / zetaOfAll);
  }

  /** In {@code [0, count)}; rank 0 is the most frequent. */
  int rank(SplittableRandom random) {
    if (count < 2) return 0;
    double u = random.nextDouble();
    double scaled = u * zetaOfAll;
    if (scaled < 1) return 0;
    if (scaled < zetaOfTwo) return 1;
    return Math.min(count - 1, (int) Math.floor(count * Math.pow(eta * u - eta + 1, alpha)));
  }

  /** Spreads ranks over {@code [0, count)}, each onto one place of its own. */
  static int scattered(int rank, int count) {
    // Below 2^31 * 2^32, which a long holds.
    return (int) ((rank * STRIDE) % count);
  }

  private static double zeta(int count, double exponent) {
    double sum = 0;
    for (int k = 1; k <= count; k++) sum += 1 / Math.pow(k, exponent);
    return sum;
  }
}
