// The base classes of object code.
//
// A module of its own, with next to nothing below it, so that a file of classes is small wherever it is bundled.

import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { CALLABLE, ENTRYPOINT } from '../../../src/shared/contract/rpc-class.ts';

/** `ctx` as the types of this package or of another runtime describe it. */
interface AnyState {
  readonly id: { toString(): string };
  readonly storage: object;
  waitUntil(work: Promise<unknown>): void;
}

/** Base of a Durable Object class; keeps `ctx` and `env` as the constructor received them. */
export class DurableObject<Env = unknown, Props = unknown> {
  protected readonly ctx: DurableObjectState<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyState, env: Env) {
    this.ctx = ctx as DurableObjectState<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(DurableObject.prototype, CALLABLE, { value: true });
  }
}

/**
 * Base of the other entry points of a Workers script. It exists so that a file with both can be
 * imported unchanged; nothing here calls one.
 */
export class WorkerEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: unknown;
  protected readonly env: Env;
  declare readonly props: Props;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkerEntrypoint.prototype, ENTRYPOINT, { value: true });
  }
}

/** Base of the workflows of a Workers script. As with `WorkerEntrypoint`, nothing here runs one. */
export class WorkflowEntrypoint<Env = unknown, Props = unknown> extends WorkerEntrypoint<
  Env,
  Props
> {}
