// Runs a program of steps on `ctx` and gives a canonical result for each. Plain JavaScript without
// dependencies, because workerd runs the same file.

/** @param canonicalize turns a value into comparable JSON */
export async function runProgram(ctx, steps, canonicalize) {
  const held = new Map();
  return await runSteps(ctx.storage, steps, held, canonicalize);
}

async function runSteps(storage, steps, held, canonicalize) {
  const results = [];
  for (const step of steps) {
    results.push(await observe(() => runStep(storage, step, held, canonicalize), canonicalize));
  }
  return results;
}

// What the step gives, or how it failed: by class, and whether at once or as a rejection.
async function observe(run, canonicalize) {
  let result;
  try {
    result = run();
  } catch (error) {
    return { throws: String(error?.name) };
  }
  try {
    return { gives: canonicalize(await result) };
  } catch (error) {
    return { rejects: String(error?.name) };
  }
}

function runStep(storage, step, held, canonicalize) {
  const { op } = step;
  switch (op) {
    case 'put':
      return storage.put(step.key, make(step.value));
    case 'putMany':
      return storage.put(
        Object.fromEntries(step.entries.map(([key, value]) => [key, make(value)])),
      );
    case 'get':
      return storage.get(step.keys);
    case 'delete':
      return storage.delete(step.keys);
    case 'list':
      return storage.list(step.options);
    case 'kvPut':
      return storage.kv.put(step.key, make(step.value));
    case 'kvGet':
      return storage.kv.get(step.key);
    case 'kvDelete':
      return storage.kv.delete(step.key);
    case 'kvList':
      return [...storage.kv.list(step.options)];
    case 'walk':
      held.set(step.id, storage.kv.list(step.options));
      return null;
    case 'step':
      return held.get(step.id)?.next() ?? null;
    case 'exec':
      return readCursor(storage.sql.exec(step.sql, ...step.bindings.map(make)), step.read);
    case 'open': {
      const cursor = storage.sql.exec(step.sql, ...step.bindings.map(make));
      held.set(step.id, cursor);
      return [cursor.columnNames, cursor.next()];
    }
    case 'rest': {
      // Forgotten before it can fail: what a cursor gives after an error differs, as documented.
      const cursor = held.get(step.id);
      held.delete(step.id);
      return cursor?.toArray() ?? null;
    }
    case 'sync':
      return storage.sync();
    case 'tick':
      return new Promise((resolve) => setTimeout(resolve, 0));
    case 'deleteAll':
      return storage.deleteAll();
    case 'setAlarm':
      return storage.setAlarm(step.time);
    case 'deleteAlarm':
      return storage.deleteAlarm();
    case 'getAlarm':
      return storage.getAlarm();
    case 'size':
      return storage.sql.databaseSize;
    case 'transaction':
      return storage.transaction(async (txn) => {
        const results = await runSteps(storage, step.steps, held, canonicalize);
        if (step.end === 'throw') throw new RangeError('the program throws');
        if (step.end === 'rollback') txn.rollback();
        return results;
      });
    case 'transactionSync': {
      const results = [];
      try {
        storage.transactionSync(() => {
          for (const inner of step.steps)
            results.push(observeSync(storage, inner, held, canonicalize));
          if (step.end === 'throw') throw new RangeError('the program throws');
        });
      } catch (error) {
        results.push(String(error?.name));
      }
      return results;
    }
    default:
      throw new Error(`unknown step ${op}`);
  }
}

// Inside transactionSync nothing can be awaited: only what is there at once is looked at.
function observeSync(storage, step, held, canonicalize) {
  try {
    const result = runStep(storage, step, held, canonicalize);
    if (typeof result?.then !== 'function') return { gives: canonicalize(result) };
    result.then(undefined, () => {});
    return 'promise';
  } catch (error) {
    return { throws: String(error?.name) };
  }
}

function readCursor(cursor, read) {
  switch (read) {
    case 'one':
      return cursor.one();
    case 'raw':
      return [cursor.columnNames, [...cursor.raw()], cursor.rowsWritten];
    case 'counted':
      return [cursor.toArray(), cursor.rowsRead, cursor.rowsWritten];
    default:
      return cursor.toArray();
  }
}

/** A value from its description, so that programs are JSON. */
function make(recipe) {
  if (recipe === null || typeof recipe !== 'object') return recipe;
  const [kind, value] = recipe;
  switch (kind) {
    case 'undefined':
      return undefined;
    case 'number':
      return Number(value);
    case 'bigint':
      return BigInt(value);
    case 'date':
      return new Date(value);
    case 'regexp':
      return new RegExp(value, 'gu');
    case 'bytes':
      return new Uint8Array(value);
    case 'floats':
      return new Float64Array(value);
    case 'buffer':
      return new Uint8Array(value).buffer;
    case 'view':
      return new DataView(new Uint8Array(value).buffer, 1);
    case 'list':
      return value.map(make);
    case 'holes': {
      const list = [];
      list[value] = 'end';
      return list;
    }
    case 'object':
      return Object.fromEntries(value.map(([key, member]) => [key, make(member)]));
    case 'map':
      return new Map(value.map(([key, member]) => [make(key), make(member)]));
    case 'set':
      return new Set(value.map(make));
    case 'error':
      return Object.assign(new RangeError(value), { extra: 1 });
    case 'boxed':
      return Object(value);
    case 'circle': {
      const circle = { name: value };
      circle.self = circle;
      return circle;
    }
    case 'function':
      return () => value;
    case 'text':
      return value.repeat(50);
    default:
      throw new Error(`unknown recipe ${kind}`);
  }
}
