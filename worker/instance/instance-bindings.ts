// What code of an instance reaches other objects by, and what it was given besides its storage.

export interface InstanceBindings {
  readonly env: object;
  /** `ctx.exports`: all classes. */
  readonly exports: object;
  readonly facets: object;
  readonly props: object;
}

/** Of an instance without a class. */
export const NO_BINDINGS: InstanceBindings = { env: {}, exports: {}, facets: {}, props: {} };
