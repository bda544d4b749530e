// The Worker under test, as the plugin for Vitest reads it from the configuration, for the host in the thread of a test
// file.
//
// Invariant: plain data, because it travels from one thread to the other as text.

/** A Worker, and the Workers that its service bindings name. */
export interface TestApp extends TestWorker {
  readonly compatibilityDate?: string;
  readonly classes: readonly TestClass[];
  readonly workers: readonly TestWorker[];
}

/** A class with objects. */
export interface TestClass {
  readonly name: string;
  readonly storage: 'sql' | 'kv';
}

export interface TestWorker {
  readonly name: string;
  /** Variables and secrets. */
  readonly vars: Readonly<Record<string, unknown>>;
  /** The other members of `env`, by name. */
  readonly bindings: Readonly<Record<string, TestBinding>>;
}

/** A member of `env`. */
export type TestBinding =
  | { readonly kind: 'class'; readonly className: string }
  | {
      readonly kind: 'service';
      readonly service: string;
      readonly entrypoint?: string;
      readonly props?: object;
    }
  | { readonly kind: 'kv'; readonly id: string }
  /** `product`: the section of the configuration. Its use is an error. */
  | { readonly kind: 'missing'; readonly product: string };
