// How answers of two engines are written down, so that they can be compared.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
export type Untyped = any;

/** Questions to an object, which is passed. */
export type Questions = Readonly<Record<string, (self: Untyped) => unknown>>;

/** Globals that only workerd's types know. */
export const scope = globalThis as Untyped;

/** The result or the error of the call. */
export async function attempt(question: () => unknown): Promise<unknown> {
  try {
    return shown(await question());
  } catch (error) {
    const { name, message } = error as Error;
    return `${name}: ${message}`;
  }
}

/** The result or the error of a promise. */
export async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(shown, (error: Error) => `${error.name}: ${error.message}`);
}

function shown(result: Untyped): unknown {
  if (result === undefined) return 'undefined';
  if (result === null || typeof result !== 'object' || !('done' in result)) return result;
  const { done, value } = result;
  return { done, value: value && [value.constructor.name, ...value] };
}

/** Far longer than any answer of another object takes on a busy machine: that may be reset first. */
const HANG_MS = 3000;
/** The limit for streams within one thread, several of which hang in both engines. */
const LOCAL_HANG_MS = 300;

/** A hang is an answer like others. */
export function within(promise: Promise<unknown>, hangMs = HANG_MS): Promise<unknown> {
  const late = new Promise((resolve) => setTimeout(() => resolve('pending'), hangMs));
  return Promise.race([promise, late]);
}

export function locally(promise: Promise<unknown>): Promise<unknown> {
  return within(promise, LOCAL_HANG_MS);
}

/** The class of the call's error, where messages differ. */
export function refusal(call: () => unknown): string {
  try {
    call();
    return 'none';
  } catch (error) {
    return (error as Error).name;
  }
}

/** The kind of an object, as programs print it. */
export const names = (value: object) => [
  value.constructor.name,
  Object.prototype.toString.call(value),
];
