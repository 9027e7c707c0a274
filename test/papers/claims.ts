/**
 * What the four papers claim, as far as it concerns Tidemark, and the tests that hold Tidemark to
 * it. docs/papers.md is made from this.
 */

export type Evidence = { readonly file: string; readonly title: string };

export type Claim = {
  readonly section: string;
  readonly claim: string;
  readonly tests: readonly Evidence[];
};

export type Paper = {
  readonly name: string;
  readonly reference: string;
  readonly claims: readonly Claim[];
};

const of =
  (file: string) =>
  (title: string): Evidence => ({ file, title });

const centimanUnit = of("test/papers/centiman.test.ts");
const centimanStores = of("test/papers/centiman.integration.test.ts");
const shards = of("test/bench/shards.test.ts");
const sharded = of("test/engine/sharded/transactions.test.ts");
const split = of("test/engine/sharded/split.test.ts");
const join = of("test/engine/sharded/join.test.ts");
const movedMeanwhile = "money that is moved meanwhile is neither lost nor made, at any moment";
const mediatorUnit = of("test/papers/mediator.test.ts");
const mediatorStores = of("test/papers/mediator.integration.test.ts");
const mixed = of("test/integration/mixed/transactions.test.ts");
const equalAnswers = of("test/native/equal-answers.integration.test.ts");
const beside = of("test/native/beside-transactions.integration.test.ts");
const ph1Stores = of("test/papers/ph1.integration.test.ts");
const oracles = of("test/integration/oracles.test.ts");
const crash = of("test/integration/crash.test.ts");
const baseIsolation = of("test/engine/base/isolation.test.ts");
const baseRuns = of("test/engine/base/runs.test.ts");
const baseAudits = of("test/engine/base/audits.test.ts");
const skews = of("test/integration/hermitage/skews.ts");

const centiman: Paper = {
  name: "Centiman",
  reference:
    "B. Ding, L. Kot, A. Demers, J. Gehrke: Centiman: Elastic, High Performance Optimistic " +
    "Concurrency Control by Watermarking. SoCC 2015",
  claims: [
    {
      section: "validation",
      claim:
        "A transaction commits exactly if nothing that it read was overwritten between its " +
        "reads and its timestamp.",
      tests: [
        centimanUnit(
          "a transaction aborts exactly if a committed one wrote what it read in between",
        ),
      ],
    },
    {
      section: "spurious aborts",
      claim: "A validator that knows the outcome of what it validated aborts nobody without need.",
      tests: [
        centimanUnit("one validator causes none: writes of an aborted transaction stop no other"),
      ],
    },
    {
      section: "validation, sliding window",
      claim:
        "Validators keep recent writes only, in bounded memory. (There an older transaction " +
        "aborts; here it checks on in its own tail and asks again.)",
      tests: [
        centimanUnit(
          "a validator keeps only its window's writes and ids, and judges no older read",
        ),
        oracles("a client whose check is older than the window is told 'stale', and commits"),
      ],
    },
    {
      section: "watermarks (Property 3.1)",
      claim:
        "Whoever reads under watermark w sees the writes of every transaction at or below w, " +
        "and no later transaction takes a timestamp at or below it. (There one per record, " +
        "approximated; here one per shard, exact.)",
      tests: [
        centimanStores("who reads after watermark w was published sees every write at or below w"),
        centimanStores("no transaction commits at or below a watermark that was ever published"),
        centimanStores("a process that starts at the watermark misses nothing above or below"),
      ],
    },
    {
      section: "local check for read-only transactions",
      claim:
        "A processor may find by itself that what a read-only transaction read was true at one " +
        "time; nothing goes to the validators.",
      tests: [
        centimanUnit("a transaction whose reads stand %s, without a validator"),
        centimanStores("a read-only transaction is consistent, and needs no validator"),
        centimanStores("a transaction whose reads were overwritten is refused by its process"),
        shards("read-only transactions need no oracle, at any share of writes"),
      ],
    },
    {
      section: "recovery of validators",
      claim:
        "A validator that crashes is rebuilt from what it logged, and decides as it would have.",
      tests: [
        centimanUnit("a validator that crashes anywhere is rebuilt from its log and goes on alike"),
        oracles("I9: frozen with its old state wakes up later and decides nothing anew"),
      ],
    },
    {
      section: "recovery of processors",
      claim: "What a crashed processor had committed is installed from the write-ahead log.",
      tests: [crash("after its request is stored leaves a commit that replay installs")],
    },
    {
      section: "sharded validation",
      claim:
        "A transaction over several validators is validated by each for its part, and commits " +
        "exactly if all agree; arrivals out of order abort only what truly conflicts.",
      tests: [
        shards("hardly any of its aborts is for nothing, where many meet over several shards"),
        sharded("money that is moved across shards is neither lost nor made, at any moment"),
      ],
    },
    {
      section: "spurious aborts, with several validators",
      claim: "Writes of a transaction that another validator aborted stop causing conflicts.",
      tests: [
        shards("hardly any of its aborts is for nothing, where many meet over several shards"),
      ],
    },
    {
      section: "elastic validation",
      claim: "Validators are added and removed while transactions run.",
      tests: [split(movedMeanwhile), join(movedMeanwhile)],
    },
  ],
};

const mediator: Paper = {
  name: "Mediator",
  reference:
    "E. Bortnikov, E. Hillel, A. Sharov: Reconciling Transactional and Non-Transactional " +
    "Operations in Distributed Key-Value Stores. SYSTOR 2014",
  claims: [
    {
      section: "recovery of the status oracle",
      claim:
        "The oracle tells no decision that is not durable, and finds after a crash what it had " +
        "decided.",
      tests: [
        mediatorUnit("an oracle that crashes %s"),
        mediatorUnit("an oracle begun anew knows every commit that a request in flight may meet"),
        mediatorStores("what was asked while no oracle ran is decided once, when it is back"),
        mediatorStores("what was committed before is committed after, for readers and conflicts"),
      ],
    },
    {
      section: "helper",
      claim:
        "A commit whose client crashed is finished by whoever meets it, or by a process for " +
        "that; finishing twice does no harm.",
      tests: [
        mediatorStores("a reader that meets a crashed client's commit finishes it, and sees it"),
        mediatorStores("replay finishes what nobody reads"),
        mediatorStores("a client that goes on after it was helped and overwritten changes nothing"),
      ],
    },
    {
      section: "local reads",
      claim: "Reads go to the store alone; the oracle is no part of them.",
      tests: [
        mediatorStores("reads go to the store, never to the oracle, and go on without functions"),
        mediatorStores(
          "a read costs one read of the item, however many transactions have written it",
        ),
      ],
    },
    {
      section: "native operations",
      claim:
        "Plain reads and writes go on beside transactions on the same items, at their own " +
        "latency, and never abort.",
      tests: [
        equalAnswers("reads, of items and placeholders"),
        equalAnswers("writes, and what they leave"),
        beside("that has not voted: who only reads does not wait, and sees the old state"),
        beside("native increments and transactions on the same items lose nothing"),
      ],
    },
    {
      section: "temporal fences",
      claim:
        "A fence raised at commit, or by a snapshot's read, puts later native writes above it, " +
        "so that none lies in a commit's past unseen. (There a timestamp; here the id of a " +
        "transaction that is about to write.)",
      tests: [
        mixed("what was read and is changed natively runs it again"),
        mixed("a native write after the commit stands, and the next transaction sees it"),
        beside("that votes meanwhile: it is installed, and the write comes after it"),
      ],
    },
    {
      section: "local transactions",
      claim: "A transaction on one item commits without the oracle.",
      tests: [mixed("one item is committed by one write, and the log knows nothing of it")],
    },
  ],
};

const ph1: Paper = {
  name: "pH1",
  reference:
    "F. Coelho, F. Cruz, R. Vilaça, J. Pereira, R. Oliveira: pH1: A Transactional Middleware " +
    "for NoSQL. SRDS 2014",
  claims: [
    {
      section: "read",
      claim:
        "A transaction reads its own writes, else the newest version at or below its timestamp, " +
        "from the store or the version store; a read-only one never aborts.",
      tests: [
        ph1Stores("a snapshot gets the newest version at or below its timestamp"),
        ph1Stores("a transaction gets its own writes before anything else"),
        ph1Stores("a read-only transaction never aborts, whatever is written meanwhile"),
      ],
    },
    {
      section: "scan",
      claim: "A scan is the store's, the version store's and the transaction's own rows, merged.",
      tests: [ph1Stores("a range shows the state at its timestamp, own writes laid over it")],
    },
    {
      section: "delete",
      claim: "A delete is a version: older snapshots see the item, newer ones do not.",
      tests: [
        ph1Stores("a deleted item is there for older snapshots only; no late install revives it"),
      ],
    },
    {
      section: "flush",
      claim:
        "A committed version replaces the stored one only when that is in the version store; a " +
        "flush may be repeated.",
      tests: [
        ph1Stores("a version is in the version store before it is overwritten in the store"),
        ph1Stores("flushes that stop halfway, and are repeated, leave a chain without a gap"),
      ],
    },
    {
      section: "non-persistent version store",
      claim: "The version store may be lost at any time: committed data is all in store and log.",
      tests: [
        ph1Stores("losing all of it loses no committed data, only older snapshots, and says so"),
        ph1Stores("losing a part of it makes no older version pass for a lost one"),
        ph1Stores("a transaction under way while it is lost never reads wrongly"),
      ],
    },
    {
      section: "client interface",
      claim:
        "The store needs no change and keeps its own interface: clients that know nothing of " +
        "transactions read what is committed.",
      tests: [
        ph1Stores("a foreign client gets, queries and scans committed items as they are"),
        ph1Stores("a foreign client sees nothing of a transaction that has not committed"),
        ph1Stores("items that a foreign client put are read, kept in history, and overwritten"),
      ],
    },
    {
      section: "certification",
      claim: "Of two transactions that write one item, the first committer wins.",
      tests: [skews("two read-modify-writes of one row")],
    },
  ],
};

const salt: Paper = {
  name: "Salt",
  reference:
    "C. Xie, C. Su, M. Kapritsos, Y. Wang, N. Yaghmazadeh, L. Alvisi, P. Mahajan: Salt: " +
    "Combining ACID and BASE in a Distributed Database. OSDI 2014",
  claims: [
    {
      section: "BASE transactions and alkaline subtransactions",
      claim:
        "A BASE transaction is a sequence of alkaline subtransactions, each of them atomic and " +
        "isolated.",
      tests: [
        baseRuns("is told to the handler, which compensates by further steps"),
        baseRuns("make each step once"),
      ],
    },
    {
      section: "Salt isolation",
      claim:
        "ACID transactions see a BASE transaction whole or not at all; other BASE transactions " +
        "see its steps at once.",
      tests: [
        baseIsolation("is not seen by who reads, who waits for nobody"),
        baseIsolation("holds up who would read and write, until it has ended"),
        baseAudits("are never seen half made, and are each made once, whoever crashes"),
      ],
    },
    {
      section: "indirect dirty reads",
      claim: "No ACID transaction sees an open BASE transaction through another one.",
      tests: [baseIsolation("is seen by steps of others, which then are released after it")],
    },
    {
      section: "early commit and atomicity",
      claim: "Once its first step is committed, a BASE transaction will finish, crashes or not.",
      tests: [
        baseIsolation("is answered early, and its result can be had later"),
        baseRuns("fails again in a later run, whatever its body would do by then"),
      ],
    },
  ],
};

export const papers: readonly Paper[] = [centiman, mediator, ph1, salt];
