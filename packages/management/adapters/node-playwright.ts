// The Playwright fixture of the emulated provider: it answers requests of the test's browser context, on the date that
// the test sets.
//
// The emulator runs in the test's process. Its objects are in memory, and are opened when the test calls `emulate`.

import { storageError } from '@ctx-storage/core/errors';
import { type BrowserContext, test } from '@playwright/test';
import { createManagementApi } from '../edge/api.ts';
import { MovableClock } from '../schedule/movable-clock.ts';
import { routeManagement } from './adapters.ts';
import { type OpenObjects, openObjects } from './node-objects.ts';

/** Options of `emulate`. */
export interface EmulateOptions {
  /** The emulator answers the requests whose address matches. @default requests below any `/client/v4/` */
  readonly pattern?: string | RegExp;
  /** Accounts that exist from the start. @default none */
  readonly accounts?: readonly { readonly id: string; readonly name: string }[];
}

/** The emulated provider of one test. */
export class TestManagement {
  readonly #context: BrowserContext;
  readonly #open: OpenObjects;
  #running: { readonly clock: MovableClock; close(): Promise<void> } | null = null;

  constructor(context: BrowserContext, open: OpenObjects = openObjects) {
    this.#context = context;
    this.#open = open;
  }

  /** Starts to answer the management requests of the context's pages, as the provider answers on this date. */
  emulate(date: string, options: EmulateOptions = {}): Promise<void> {
    return runAsTestStep(`management: emulate ${date}`, async () => {
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

  /** Moves the emulated provider's clock to the beginning of this date. */
  moveTo(date: string): Promise<void> {
    return runAsTestStep(`management: move to ${date}`, async () => {
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
 * The fixture `test.extend<{ management: TestManagement }>({ management: emulatedManagement })` gives each test a
 * provider of its own, which is closed after the test.
 */
export async function emulatedManagement(
  { context }: { readonly context: BrowserContext },
  use: (management: TestManagement) => Promise<void>,
): Promise<void> {
  const management = new TestManagement(context);
  await use(management);
  await management.close();
}

/**
 * Runs the action as a step of the running test, so that Playwright shows its errors at the test's own line. Outside of
 * a test, it only runs the action.
 */
function runAsTestStep(title: string, action: () => Promise<void>): Promise<void> {
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
