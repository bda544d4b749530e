// Runs scenarios beside the storage, each on an object of its own that is erased afterwards.
//
// Loads scenario files from the runner's server as they are. Answers one request at a time.

import type { AlarmInvocationInfo } from '../../../../worker/objects/alarms/alarm-scheduler.ts';
import type { DurableObjectState } from '../../../../worker/objects/instance/durable-object-state.ts';
import { ClassRegistry } from '../../../../worker/objects/instance/object-class.ts';
import { objectRealm } from '../../../../worker/realm/globals/object-realm.ts';
import { type BrowserHost, startBrowserHost } from '../../../../worker/start/boot/browser-host.ts';
import { formOf, listed, type Objects, runScenario, type Tools } from '../scenario.ts';
import type { Reply, Request } from './messages.ts';

type AlarmHandler = (ctx: DurableObjectState, info: AlarmInvocationInfo) => unknown;

const alarmHandlers = new Map<string, AlarmHandler>();

class Scenario {
  readonly ctx: DurableObjectState;

  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }

  alarm(info: AlarmInvocationInfo): unknown {
    return alarmHandlers.get(this.ctx.id.name!)?.(this.ctx, info);
  }
}

const classes = new ClassRegistry({ Scenario });
const addressOf = (name: string) => ({
  className: 'Scenario',
  id: classes.get('Scenario').ids.fromName(name),
});
let host: Promise<BrowserHost> | undefined;
const tools = loadTools();
// Each request is answered with this error, so it needs no report of its own.
tools.catch(() => {});

self.addEventListener('message', async ({ data }: MessageEvent<Request>) => {
  self.postMessage(await answer(data));
});

async function answer(request: Request): Promise<Reply> {
  try {
    const scenarios = await load(`/corpus/${request.file}`);
    if (request.op === 'list') {
      return { value: Object.entries(scenarios).map((entry) => listed(...entry)) };
    }
    const { medium, name, object } = request;
    host ??= startBrowserHost({ realm: objectRealm, directory: 'conformance', classes, medium });
    return await run(scenarios[name], object, await host);
  } catch (error) {
    return { error: String(error) };
  }
}

async function run(
  scenario: unknown,
  object: string,
  { host: opened }: BrowserHost,
): Promise<Reply> {
  const objects: Objects = {
    deliver: (name, event) => opened.deliver(addressOf(name), ({ state }) => event(state)),
    setAlarmHandler: (name, handler) => void alarmHandlers.set(name, handler),
  };
  const value = await runScenario(formOf(scenario)!, object, objects, await tools);
  try {
    await opened.erase(addressOf(object));
    alarmHandlers.delete(object);
    return { value };
  } catch (error) {
    return { value, notice: `its object could not be erased: ${error}` };
  }
}

async function loadTools(): Promise<Tools> {
  const { canonicalize } = await import(/* @vite-ignore */ address('/corpus-tools/canonical.mjs'));
  const { makeHelpers } = await import(/* @vite-ignore */ address('/corpus-tools/helpers.mjs'));
  return { canonicalize, makeHelpers };
}

async function load(path: string): Promise<Record<string, unknown>> {
  return (await import(/* @vite-ignore */ address(path))).default;
}

// A whole address: the bundler leaves it alone.
function address(path: string): string {
  return new URL(path, self.location.origin).href;
}
