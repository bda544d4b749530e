// Defines the base classes that object code extends.
//
// This module imports almost nothing, so that a bundle with a class of objects stays small.

import { checkState } from '../../../src/shared/contract/constructed-state.ts';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { CALLABLE, ENTRYPOINT } from '../../../src/shared/contract/rpc-class.ts';
import type { ExecutionContext } from '../../../src/shared/contract/service.ts';

/** The `ctx` of an object, as this package's types or those of another runtime describe it. */
interface AnyState {
  readonly id: { toString(): string };
  readonly storage: object;
  waitUntil(work: Promise<unknown>): void;
}

/** The `ctx` of an entry point, as this package's types or those of another runtime describe it. */
interface AnyExecution {
  waitUntil(work: Promise<unknown>): void;
}

/** The base of Durable Object classes. It stores the constructor's `ctx` and `env` unchanged. */
export class DurableObject<Env = unknown, Props = unknown> {
  protected readonly ctx: DurableObjectState<Props>;
  protected readonly env: Env;

  /**
   * Stores `ctx` and `env`.
   *
   * @throws TypeError if a host constructs the object and `ctx` is a proxy or copy that the class has made
   */
  constructor(ctx: AnyState, env: Env) {
    checkState(ctx);
    this.ctx = ctx as DurableObjectState<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(DurableObject.prototype, CALLABLE, { value: true });
  }
}

/** The base of entry points, which are constructed again for each event. It stores `ctx` and `env` unchanged. */
export class WorkerEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: ExecutionContext<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyExecution, env: Env) {
    this.ctx = ctx as ExecutionContext<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkerEntrypoint.prototype, ENTRYPOINT, { value: 'worker' });
  }
}

/** The base of workflows. This package does not run them; with this class, files that define one can be imported. */
export class WorkflowEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: ExecutionContext<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyExecution, env: Env) {
    this.ctx = ctx as ExecutionContext<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkflowEntrypoint.prototype, ENTRYPOINT, { value: 'workflow' });
  }
}
