// Runs scenarios inside workerd, each on an object with SQLite storage.
//
// Objects live in the isolate of this worker, so an event is handed to an object as a function: it
// is left in `events` under a number, and a request to the object names that number. Bundled by
// workerd-implementation.ts; scenario files are separate modules beside it.

import { DurableObject } from 'cloudflare:workers';
import {
  type Context,
  formOf,
  listed,
  type Objects,
  type Result,
  runScenario,
  type Tools,
} from '../scenario.ts';

interface Environment {
  readonly OBJECTS: {
    idFromName(name: string): { toString(): string };
    get(id: { toString(): string }): { fetch(url: string): Promise<Response> };
  };
}

type AlarmHandler = (ctx: Context, info: unknown) => unknown;

const events = new Map<number, (ctx: Context) => Promise<Result>>();
const alarmHandlers = new Map<string, AlarmHandler>();
let eventNumber = 0;

export class TestedObject extends DurableObject {
  async fetch(request: Request): Promise<Response> {
    const number = Number(new URL(request.url).searchParams.get('event'));
    return Response.json(await events.get(number)!(this.ctx));
  }

  alarm(info: unknown): unknown {
    return alarmHandlers.get(this.ctx.id.toString())?.(this.ctx, info);
  }
}

export default {
  async fetch(request: Request, { OBJECTS }: Environment): Promise<Response> {
    const parameters = new URL(request.url).searchParams;
    const file = parameters.get('file')!;
    const scenarios = (await load(file)).default as Record<string, unknown>;
    const name = parameters.get('name');
    if (name === null) {
      return Response.json(Object.entries(scenarios).map((entry) => listed(...entry)));
    }
    const objects: Objects = {
      async deliver(objectName, event) {
        const number = eventNumber++;
        events.set(number, event);
        try {
          const stub = OBJECTS.get(OBJECTS.idFromName(objectName));
          return await (await stub.fetch(`http://object/?event=${number}`)).json();
        } finally {
          events.delete(number);
        }
      },
      setAlarmHandler(objectName, handler) {
        alarmHandlers.set(OBJECTS.idFromName(objectName).toString(), handler);
      },
    };
    const tools = { ...(await load('canonical.mjs')), ...(await load('helpers.mjs')) };
    const form = formOf(scenarios[name])!;
    const object = parameters.get('object')!;
    return Response.json(await runScenario(form, object, objects, tools as unknown as Tools));
  },
};

// A path that is a variable, so that the bundler leaves the import to workerd.
function load(file: string): Promise<Record<string, unknown>> {
  const path = `./corpus/${file}`;
  return import(path);
}
