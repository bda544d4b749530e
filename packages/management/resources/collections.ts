// Implements the operations of a collection that stores items as they are sent.
//
// A call that writes several items writes all or none. The emulator sets ids and times, and ignores those in a body.

import * as v from 'valibot';
import {
  type Answer,
  apiError,
  fieldsOf,
  type Method,
  type RoutedCall,
  successAnswer,
} from '../call/call.ts';
import { listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import type { CollectionKind } from './collection-kinds.ts';
import type { Collection, Filter, Item, ItemStore } from './item-store.ts';

interface StoredItem extends Item {
  readonly created_on?: string;
}

type Handle = (store: ItemStore, call: RoutedCall) => Answer;

const PAGE_SIZES = { defaultSize: 25, maxSize: 1000 };
const LIST_MAX = 1000;

/** Returns the operations of a collection, each with its handler. */
export function collectionHandlers(
  kind: CollectionKind,
): { readonly method: Method; readonly path: string; readonly handle: Handle }[] {
  const onList: Record<string, Handle> = {
    GET: list(kind),
    POST: create(kind),
    PATCH: rewriteMany(kind, 'patch'),
    PUT: rewriteMany(kind, 'replace'),
    DELETE: removeMany(kind),
  };
  const onOne: Record<string, Handle> = {
    GET: show(kind),
    POST: createAt(kind),
    PATCH: rewrite(kind, 'patch'),
    PUT: rewrite(kind, 'replace'),
    DELETE: remove(kind),
  };
  return [
    ...kind.list.map((method) => ({ method, path: kind.path, handle: onList[method]! })),
    ...(kind.one ?? []).map((method) => ({
      method,
      path: `${kind.path}/:${kind.item}`,
      handle: onOne[method]!,
    })),
  ];
}

function list(kind: CollectionKind): Handle {
  return (store, call) => {
    const query = listQuery(call, { texts: kind.filters ?? [] });
    const page = listPageOf(query, PAGE_SIZES);
    const filters = (kind.filters ?? [])
      .filter((field) => query[field] !== undefined)
      .map((field): Filter => ({ field, kind: 'is', value: query[field]! }));
    const { items, total } = itemsOf(kind, store, call).find({ filters, page });
    return listPageAnswer(items, total, page);
  };
}

function create(kind: CollectionKind): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const bodies = kind.createsMany ? bodiesOf(call) : [call.body];
    const created = bodies.map((body, index) =>
      items.insert(newItem(kind, call, body, call.ids[index]!)),
    );
    return successAnswer(kind.createsMany ? created : created[0]);
  };
}

function createAt(kind: CollectionKind): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const id = call.params[kind.item!]!;
    if (items.get(id)) throw apiError('ITEM_EXISTS', `The item ${id} already exists.`);
    return successAnswer(items.insert(newItem(kind, call, call.body, id)));
  };
}

function show(kind: CollectionKind): Handle {
  return (store, call) =>
    successAnswer(existingItem(itemsOf(kind, store, call), call.params[kind.item!]!));
}

function rewrite(kind: CollectionKind, mode: 'patch' | 'replace'): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const old = existingItem(items, call.params[kind.item!]!);
    const changed = items.replace(changedItem(kind, call, old, call.body, mode));
    return successAnswer(mode === 'patch' && kind.patchGivesList ? [changed] : changed);
  };
}

function rewriteMany(kind: CollectionKind, mode: 'patch' | 'replace'): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const changed = bodiesOf(call).map((body) => {
      const old = existingItem(items, idOf(body));
      return items.replace(changedItem(kind, call, old, body, mode));
    });
    return successAnswer(changed);
  };
}

function remove(kind: CollectionKind): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const { id } = existingItem(items, call.params[kind.item!]!);
    items.remove(id);
    return successAnswer({ id });
  };
}

/** Deletes several items, whose ids are in the query, `id=a&id=b`, or in a list of items in the body. */
function removeMany(kind: CollectionKind): Handle {
  return (store, call) => {
    const items = itemsOf(kind, store, call);
    const ids = call.query.id?.split(',') ?? bodiesOf(call).map(idOf);
    return successAnswer(
      ids.map((id) => {
        existingItem(items, id);
        items.remove(id);
        return { id };
      }),
    );
  };
}

function itemsOf(kind: CollectionKind, store: ItemStore, call: RoutedCall): Collection<StoredItem> {
  if (kind.parent) {
    const parents = collectionWithInitialItems(kind.parent, store, call);
    existingItem(parents, call.params[kind.parent.item!]!);
  }
  return collectionWithInitialItems(kind, store, call);
}

function collectionWithInitialItems(
  { path, initialItems }: CollectionKind,
  store: ItemStore,
  call: RoutedCall,
): Collection<StoredItem> {
  const name = path.replaceAll(/:(\w+)/g, (_, param: string) => call.params[param] ?? '');
  const items = store.collection<StoredItem>(name);
  if (initialItems && store.document(`begun ${name}`) === undefined) {
    store.putDocument(`begun ${name}`, true);
    for (const item of initialItems) items.insert(item);
  }
  return items;
}

function existingItem(items: Collection<StoredItem>, id: string): StoredItem {
  const item = items.get(id);
  if (item === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no item ${id}.`);
  return item;
}

function newItem(kind: CollectionKind, call: RoutedCall, body: unknown, id: string): StoredItem {
  const form = validate(kind.form ?? v.looseObject({}), body);
  return { ...form, id, created_on: call.nowIso, modified_on: call.nowIso } as StoredItem;
}

function changedItem(
  kind: CollectionKind,
  call: RoutedCall,
  old: StoredItem,
  body: unknown,
  mode: 'patch' | 'replace',
): StoredItem {
  const fields = fieldsOf(body ?? {});
  const form = validate(
    kind.form ?? v.looseObject({}),
    mode === 'patch' ? { ...old, ...fields } : fields,
  );
  return {
    ...form,
    id: old.id,
    ...(old.created_on && { created_on: old.created_on }),
    modified_on: call.nowIso,
  } as StoredItem;
}

function bodiesOf(call: RoutedCall): readonly unknown[] {
  const bodies = Array.isArray(call.body) ? call.body : [call.body];
  if (bodies.length > LIST_MAX) {
    throw apiError(
      'FIELD_INVALID',
      `The list has ${bodies.length} items; the limit is ${LIST_MAX}.`,
      '',
    );
  }
  return bodies;
}

function idOf(body: unknown): string {
  const { id } = fieldsOf(body ?? {});
  if (typeof id === 'string') return id;
  throw apiError('FIELD_MISSING', 'id is required in every item.', '/id');
}
