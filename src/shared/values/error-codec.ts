// Writes errors in workerd's form: class, message, and all other own properties, even non-enumerable ones. Reads that form
// and V8's (class, message, stack, cause).
//
// As in workerd, `name` determines the class: an error whose name is not that of a built-in class is read as an Error with
// that name. In workerd's form, all properties except `message` are read as enumerable, and so is `stack`, unless the error
// is in a message.

import { corruptValueError } from './byte-reader.ts';
import type { ValueReader, ValueWriter } from './value-streams.ts';
import {
  ERROR_CLASS_TAGS,
  ERROR_KINDS,
  ERROR_TAG,
  HOST_TAG,
  TAG,
  WEBASSEMBLY_ERROR_KINDS,
} from './wire.ts';

/** Properties that engines set on an error beside its stack, such as line numbers. */
export const ENGINE_PROPERTIES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(new Error('')),
  'name',
  'message',
  'stack',
]);

const ERROR_NAMES: ReadonlyMap<number, string> = new Map([
  ...[...ERROR_KINDS].map(([name, kind]) => [kind, name] as const),
  ...WEBASSEMBLY_ERROR_KINDS,
]);

const WASM_ERRORS = (typeof WebAssembly === 'undefined' ? {} : WebAssembly) as unknown as Readonly<
  Record<string, Function | undefined>
>;

/** Writes an error. Its getters run, and their exceptions propagate. */
export function writeError(error: Error, writer: ValueWriter): void {
  const { out } = writer;
  out.byte(TAG.host);
  out.varint(HOST_TAG.error);
  const { name }: { name: unknown } = error;
  const kind = typeof name === 'string' ? ERROR_KINDS.get(name) : undefined;
  out.varint(kind ?? 0);
  if (kind === undefined) writer.writeValue(name);
  // workerd would write a message that is not a string unchanged, and could not read it.
  const { message }: { message: unknown } = error;
  out.string(typeof message === 'string' ? message : String(message));

  const properties: [string, unknown][] = [];
  if ('stack' in error) properties.push(['stack', error.stack]);
  for (const property of Object.getOwnPropertyNames(error)) {
    if (ENGINE_PROPERTIES.has(property) || isIndex(property)) continue;
    properties.push([property, (error as unknown as Record<string, unknown>)[property]]);
  }
  writer.writeProperties(properties);
}

/** Reads workerd's form. `onCreated` gets the error before its properties, which may refer to it. */
export function readHostError(
  reader: ValueReader,
  onCreated: (error: object) => void,
  listsStack: boolean,
): object {
  const kind = reader.input.varint();
  const name = kind === 0 ? reader.readValue() : undefined;
  const message = reader.input.taggedString();
  // The class provides only the prototype, because its constructor may require other arguments.
  const error: Error = Reflect.construct(Error, [message], classOfKind(kind));
  // An empty message is an own property too, as in workerd.
  if (message === '') define(error, 'message', message, false);
  onCreated(error);
  if (kind === 0) define(error, 'name', name, true);
  const properties = reader.readValue();
  if (typeof properties !== 'object' || properties === null) {
    throw corruptValueError('the properties of an error are not an object');
  }
  for (const property of Object.keys(properties)) {
    const value = (properties as Record<string, unknown>)[property];
    define(error, property, value, property !== 'stack' || listsStack);
  }
  return error;
}

/** Reads V8's form. `onCreated` gets the error before its cause, which may refer to it. */
export function readPlainError(reader: ValueReader, onCreated: (error: object) => void): object {
  const { input } = reader;
  let error: Error | undefined;
  let errorClass: ErrorConstructor = Error;
  let message: string | undefined;
  let stack: string | undefined;
  const create = () => {
    if (error) return error;
    error = new errorClass(message);
    if (stack !== undefined) define(error, 'stack', stack, false);
    onCreated(error);
    return error;
  };
  for (;;) {
    const tag = input.byte();
    switch (tag) {
      case ERROR_TAG.message:
        message = input.taggedString();
        if (error) define(error, 'message', message, false);
        break;
      case ERROR_TAG.stack:
        stack = input.taggedString();
        if (error) define(error, 'stack', stack, false);
        break;
      case ERROR_TAG.cause:
        define(create(), 'cause', reader.readValue(), false);
        break;
      case ERROR_TAG.end:
        return create();
      default: {
        const tagged = ERROR_CLASS_TAGS.get(tag);
        if (!tagged) throw corruptValueError(`byte ${tag} in an error`);
        errorClass = tagged;
      }
    }
  }
}

/** Returns the class with this number. Numbers of later versions are read as Error, as in workerd. */
function classOfKind(kind: number): Function {
  const name = ERROR_NAMES.get(kind) ?? '';
  const errorClass = (globalThis as Record<string, unknown>)[name];
  return typeof errorClass === 'function' ? errorClass : (WASM_ERRORS[name] ?? Error);
}

function define(error: Error, name: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable });
}

function isIndex(name: string): boolean {
  return /^(0|[1-9][0-9]{0,9})$/.test(name) && Number(name) < 2 ** 32 - 1;
}
