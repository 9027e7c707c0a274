/** Bounds of requests and answers by REST (schemas/rest, functions/api); part of core/limits.ts. */

/** Bytes of a request's body. As base64 it stays below the 6 MB that Lambda takes per event. */
export const restRequestBytesMax = 4 * 1024 * 1024;
/** Bytes of an answer's body, escaped as in Lambda's own answer of at most 6 MB. */
export const restResponseBytesMax = 5_500_000;
/** Bytes of all stored items together that a request's conditions and updates are about. */
export const restCurrentBytesMax = 32 * 1024 * 1024;
/** Items read at once for a request: as many as one BatchGetItem takes. */
export const restItemsAtOnceMax = 100;
/** Work on a request without letting others have their turn. */
export const restStretchMsMax = 50;
/**
 * Nesting of a request's JSON: twice an item's own depth in typed form, and the request around it.
 */
export const restJsonDepthMax = 80;
/** Queries and scans in one request; each is one page of at most 1 MB. */
export const restPagesPerRequestMax = 20;
export const restPageItemsMax = 1_000;
/** BASE transactions of one answer; each may carry the message of an error. */
export const restBasesMax = 100;
/** Those that are looked at for it: each record may hold its input and its result. */
export const restBasesLookedAtMax = 500;
/** And for so long at most: those of strangers may be slow to read. */
export const restBasesLookMs = 8_000;
/** Printable ASCII. */
export const restIdempotencyKeyLengthMax = 256;
/** Values of one `in` comparison, and attributes of one condition. */
export const restComparandsMax = 100;
/**
 * Length of a page's cursor: the key attributes of a table and of an index (two of 2,048 and two
 * of 1,024 bytes, six characters a byte where JSON has to escape them, four names), in base64.
 */
export const restCursorLengthMax = 64 * 1024;
/**
 * Length of a transaction's token, in base64: a name, some eleven bytes for each shard, eight for
 * each key of a transactional table; of a mixed one each key itself and some 20 bytes, so that
 * 10,000 of up to 35 bytes fit.
 */
export const restTokenLengthMax = 768 * 1024;
/** So often a transaction is named anew whose entry is to lie where it has read (detached.ts). */
export const stateNameTriesMax = 1_000;
/** Attributes that an update removes: as many as name the smallest attributes of an item. */
export const restRemovalsMax = 10_000;
/** Faults that one answer names. */
export const restErrorsMax = 20;
/** A request is answered by then: HTTP APIs give up on their integration after 30 s. */
export const restDeadlineMs = 25_000;
/**
 * Time kept between the engine's own deadline and the answer, and the answer and Lambda's time-out.
 */
export const restDeadlineMarginMs = 750;
