// The emulated provider as a fixture of Playwright: a route of the test's context, on the date that the test sets.
//
// It runs in the test's process, on objects in memory, which a test opens when it emulates a date.

import { storageError } from '@ctx-storage/core/errors';
import { type BrowserContext, test } from '@playwright/test';
import { createManagementApi } from '../edge/api.ts';
import { MovableClock } from '../schedule/movable-clock.ts';
import { routeManagement } from './adapters.ts';
import { type OpenObjects, openObjects } from './node-objects.ts';

/** The test's settings of the provider. */
export interface EmulateOptions {
  /** The emulated provider answers the requests whose address matches. @default those below any `/client/v4/` */
  readonly pattern?: string | RegExp;
  /** The accounts that exist. */
  readonly accounts?: readonly { readonly id: string; readonly name: string }[];
}

/** A test's provider. */
export class TestManagement {
  readonly #context: BrowserContext;
  readonly #open: OpenObjects;
  #running: { readonly clock: MovableClock; close(): Promise<void> } | null = null;

  constructor(context: BrowserContext, open: OpenObjects = openObjects) {
    this.#context = context;
    this.#open = open;
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
      const clock = new MovableClock(date);
      const { namespace, close } = await this.#open();
      try {
        const api = createManagementApi({ namespace, clock, ...(accounts && { accounts }) });
        await routeManagement(this.#context, pattern, api);
        this.#running = { clock, close };
      } catch (error) {
        await close();
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

/**
 * The fixture: `test.extend<{ management: TestManagement }>({ management: emulatedManagement })` gives each test a
 * provider of its own, which ends with the test.
 */
export async function emulatedManagement(
  { context }: { readonly context: BrowserContext },
  use: (management: TestManagement) => Promise<void>,
): Promise<void> {
  const management = new TestManagement(context);
  await use(management);
  await management.close();
}

/** A step of the running test, whose errors are shown at the test's own line; outside of a test, only the action. */
function inStep(title: string, action: () => Promise<void>): Promise<void> {
  return isInTest() ? test.step(title, action, { box: true }) : action();
}

function isInTest(): boolean {
  try {
    test.info();
    return true;
  } catch {
    return false; // Playwright throws outside of tests
  }
}
