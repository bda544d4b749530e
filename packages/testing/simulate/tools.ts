// The tools of a test's code: for its calls, and for its invariants.

import type {
  DurableObjectNamespace,
  DurableObjectStub,
  NamespacesOf,
} from '@ctx-storage/core/object';
import type { ClientCall } from './client-calls.ts';

/** For calls: the objects, and draws of the seed. A call that is repeated draws the same again. */
export interface Tools<Table extends object> {
  /** The namespaces of the classes. Their stubs record each call. */
  readonly env: NamespacesOf<Table>;
  /** A whole number from `least` to `most`. */
  readonly int: (least: number, most: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  /** True in this fraction of the draws, from 0 to 1. */
  readonly chance: (fraction: number) => boolean;
  /** A text that no other call has, for `exactlyOnce`. */
  readonly unique: () => string;
}

/** For invariants: the objects at rest, and the calls that clients have made. */
export interface InvariantTools<Table extends object> {
  /** The same for all checks of one run. */
  readonly run: object;
  readonly env: NamespacesOf<Table>;
  /** Stubs of all objects of a class that the run has used, in the order of their names. */
  readonly each: <Name extends keyof Table & string>(className: Name) => StubOf<Table, Name>[];
  /** The calls of clients so far, with the outcomes that their callers know. */
  readonly calls: readonly ClientCall[];
  /** The alarms that are set, and how long ago each was due, in milliseconds. */
  readonly alarms: () => Promise<readonly { object: string; dueMs: number; lateMs: number }[]>;
  /** The objects whose alarm failed in its last retry. */
  readonly givenUpAlarms: readonly string[];
}

/** Checks the objects at rest. @throws the error that the test fails with */
export type Invariant<Table extends object> = (tools: InvariantTools<Table>) => unknown;

export type StubOf<Table extends object, Name extends keyof Table> =
  NamespacesOf<Table>[Name] extends DurableObjectNamespace<infer Type>
    ? DurableObjectStub<Type>
    : never;

// The runner knows no classes.
export type AnyTools = Tools<Record<string, object>>;
export type Check = Invariant<Record<string, object>>;
