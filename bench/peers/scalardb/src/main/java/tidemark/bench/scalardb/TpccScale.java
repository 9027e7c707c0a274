package tidemark.bench.scalardb;

import java.util.SplittableRandom;

/**
 * bench/workloads/tpcc/scale.ts in Java: how large the database is, and the skew of the choices
 * among its rows.
 */
record TpccScale(int warehouses, int customersPerDistrict, int items) {
  static final int DISTRICTS = 10;

  private static final String[] SYLLABLES =
      "BAR OUGHT ABLE PRI PRES ESE ANTI CALLY ATION EING".split(" ");
  private static final String ALPHANUMERICS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

  private static final int CUSTOMER_SHIFT = 259;
  private static final int ITEM_SHIFT = 7_911;
  private static final int NAME_SHIFT_AT_LOAD = 157;
  private static final int NAME_SHIFT_IN_RUN = 223;

  /**
   * @throws IllegalArgumentException for a scale beyond the specification's, or too small to choose
   *     from
   */
  TpccScale {
    check("--warehouses", warehouses, 1, 10_000);
    check("--customers-per-district", customersPerDistrict, 10, 3_000);
    check("--items", items, 20, 100_000);
  }

  private static void check(String name, int value, int low, int high) {
    if (value >= low && value <= high) return;
    throw new IllegalArgumentException("%s must be from %d to %d".formatted(name, low, high));
  }

  /** Orders of a district that are delivered at the start: 2,100 of 3,000. */
  int deliveredAtStart() {
    return (int) Math.floor(customersPerDistrict * 0.7);
  }

  /** Last names in use: 1,000 for 3,000 customers. */
  int lastNameCount() {
    return (customersPerDistrict + 2) / 3;
  }

  int someCustomer(SplittableRandom random) {
    int mask = mask(customersPerDistrict, 3_000, 1_023);
    return nonUniform(random, 1, customersPerDistrict, mask, CUSTOMER_SHIFT);
  }

  int someItem(SplittableRandom random) {
    return nonUniform(random, 1, items, mask(items, 100_000, 8_191), ITEM_SHIFT);
  }

  String someLastNameAtLoad(SplittableRandom random) {
    return someLastName(random, NAME_SHIFT_AT_LOAD);
  }

  String someLastNameInRun(SplittableRandom random) {
    return someLastName(random, NAME_SHIFT_IN_RUN);
  }

  private String someLastName(SplittableRandom random, int shift) {
    int count = lastNameCount();
    return lastName(nonUniform(random, 0, count - 1, mask(count, 1_000, 255), shift));
  }

  /** Any but this one; with one warehouse this one. */
  int otherWarehouse(SplittableRandom random, int w) {
    if (warehouses == 1) return w;
    int other = between(random, 1, warehouses - 1);
    return other < w ? other : other + 1;
  }

  /** Clause 4.3.2.3: a syllable for each of three digits. */
  static String lastName(int number) {
    StringBuilder name = new StringBuilder();
    for (char digit : "%03d".formatted(number).toCharArray()) name.append(SYLLABLES[digit - '0']);
    return name.toString();
  }

  /**
   * The specification's mask for its own range; for a smaller one the power of two in proportion.
   */
  private static int mask(int count, int fullCount, int fullMask) {
    double share = (fullMask + 1.0) * count / fullCount;
    int exponent = (int) Math.floor(Math.log(share) / Math.log(2));
    return (1 << Math.max(exponent, 1)) - 1;
  }

  private static int nonUniform(SplittableRandom random, int low, int high, int mask, int shift) {
    int mixed = between(random, 0, mask) | between(random, low, high);
    return (mixed + shift) % (high - low + 1) + low;
  }

  /** Both ends included. */
  static int between(SplittableRandom random, int low, int high) {
    return low + random.nextInt(high - low + 1);
  }

  static boolean percent(SplittableRandom random, int chance) {
    return random.nextInt(100) < chance;
  }

  static String someText(SplittableRandom random, int low, int high) {
    return some(random, ALPHANUMERICS, between(random, low, high));
  }

  static String someDigits(SplittableRandom random, int length) {
    return some(random, "0123456789", length);
  }

  private static String some(SplittableRandom random, String from, int length) {
    StringBuilder text = new StringBuilder(length);
    for (int i = 0; i < length; i++) text.append(from.charAt(random.nextInt(from.length())));
    return text.toString();
  }

  /** A moment of the year 2026, in milliseconds. */
  static long someTime(SplittableRandom random) {
    return 1_767_225_600_000L + random.nextInt(365 * 86_400) * 1_000L;
  }
}
