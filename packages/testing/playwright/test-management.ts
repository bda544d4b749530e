// The emulated provider of the management interface as a route of the test's context, on the date that the test sets.
//
// It runs in the test's process, on objects in memory, and is loaded only by tests that ask for it.

import { storageError } from '@ctx-storage/core/errors';
import type { BrowserContext } from '@playwright/test';
import { inStep } from './steps.ts';

/** The test's settings of the provider. */
export interface EmulateOptions {
  /** Which requests it answers. @default those below any `/client/v4/` */
  readonly pattern?: string | RegExp;
  /** The accounts that exist. */
  readonly accounts?: readonly { readonly id: string; readonly name: string }[];
}

/** The parts of the package's other entries that are used; a test's process loads them when it needs them. */
interface NodeEntry {
  createObjects(classes: object): Promise<{
    readonly env: Readonly<Record<string, unknown>>;
    close(): Promise<void>;
  }>;
}

interface Clock {
  moveTo(date: string): void;
}

interface ManagementEntry {
  readonly ManagementObject: object;
  readonly MovableClock: new (at: string) => Clock;
  createManagementApi(options: object): object;
  routeManagement(context: BrowserContext, pattern: string | RegExp, api: object): Promise<void>;
}

export class TestManagement {
  readonly #context: BrowserContext;
  readonly #load: (name: 'node' | 'management') => Promise<unknown>;
  #running: { readonly clock: Clock; close(): Promise<void> } | null = null;

  constructor(context: BrowserContext, load: (name: 'node' | 'management') => Promise<unknown>) {
    this.#context = context;
    this.#load = load;
  }

  /** Answers the management requests of the context's pages, as on this date. */
  emulate(date: string, options: EmulateOptions = {}): Promise<void> {
    return inStep(`management: emulate ${date}`, async () => {
      if (this.#running !== null) {
        throw storageError(
          'INVALID_ARGUMENT',
          'management.emulate: the provider is emulated already; move it to another date with management.moveTo().',
        );
      }
      const { pattern = '**/client/v4/**', accounts } = options;
      const node = (await this.#load('node')) as NodeEntry;
      const entry = (await this.#load('management')) as ManagementEntry;
      const clock = new entry.MovableClock(date);
      const objects = await node.createObjects({ ManagementObject: entry.ManagementObject });
      const namespace = objects.env.ManagementObject;
      try {
        const api = entry.createManagementApi({ namespace, clock, ...(accounts && { accounts }) });
        await entry.routeManagement(this.#context, pattern, api);
        this.#running = { clock, close: () => objects.close() };
      } catch (error) {
        await objects.close();
        throw error;
      }
    });
  }

  /** From now on it is this date. */
  moveTo(date: string): Promise<void> {
    return inStep(`management: move to ${date}`, async () => {
      if (this.#running === null) {
        throw storageError(
          'INVALID_ARGUMENT',
          `management.moveTo: nothing is emulated yet; begin with management.emulate('${date}').`,
        );
      }
      this.#running.clock.moveTo(date);
    });
  }

  async close(): Promise<void> {
    await this.#running?.close();
    this.#running = null;
  }
}
