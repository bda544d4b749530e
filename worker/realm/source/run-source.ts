// Waits for a message with source code, loads the code into this worker, and passes its classes to `serve`.

import { compareSourceBuilds } from '../../../src/shared/contract/source-build.ts';
import type {
  ConsoleMessage,
  SourceAnswer,
  SourceMessage,
} from '../../../src/shared/wire/control.ts';
import { toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import { relayConsole } from './console-relay.ts';
import { loadModules, type ModuleLoader } from './load-source.ts';

/** The part of a worker's global scope that this file uses. */
export interface SourceScope {
  postMessage(message: SourceAnswer | ConsoleMessage): void;
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<SourceMessage | null>) => void,
  ): void;
  readonly console: Parameters<typeof relayConsole>[0];
}

/** The function `serve` of this package, which serves classes of objects to pages. */
export type Serve = (
  classes: ClassTable,
  options: SourceMessage['options'] & {
    readonly exports: Readonly<Record<string, unknown>>;
    readonly build: string;
    readonly compareBuilds: typeof compareSourceBuilds;
  },
) => void;

export function runSource(scope: SourceScope, loader: ModuleLoader, serve: Serve): void {
  let hasSource = false;
  // These functions are stored now, because object code may replace `postMessage` and `Date.now` later.
  const post = scope.postMessage.bind(scope);
  const { now } = Date;
  scope.addEventListener('message', ({ data }) => {
    if (data?.type !== 'source' || hasSource) return;
    hasSource = true;
    if (data.tellsConsole) {
      relayConsole(scope.console, now, (entry) => post({ type: 'console', entry }));
    }
    void load(data, loader, serve).then(post);
  });
}

async function load(
  { options, build, ...source }: SourceMessage,
  loader: ModuleLoader,
  serve: Serve,
): Promise<SourceAnswer> {
  try {
    const { classes, exports } = await loadModules(source, loader);
    serve(classes, { ...options, exports, build, compareBuilds: compareSourceBuilds });
    return { type: 'source-loaded', classes: Object.keys(classes) };
  } catch (error) {
    return { type: 'source-failed', error: toWire(error) };
  }
}
