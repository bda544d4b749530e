// Lists and shows zone settings, and patches one or several at once.

import * as v from 'valibot';
import { type Answer, apiError, fieldsOf, type RoutedCall, successAnswer } from '../call/call.ts';
import { validate } from '../call/validation.ts';
import { patchDnsSettings, readDnsSettings } from './dns-settings.ts';
import type { ItemStore } from './item-store.ts';
import { RETIRED_SETTINGS, SETTINGS, type SettingKind } from './setting-values.ts';

const BulkPatch = v.object({
  items: v.pipe(v.array(v.looseObject({ id: v.string() })), v.maxLength(200)),
});

interface Stored {
  readonly value: unknown;
  readonly modified_on: string;
}

/** Returns the name in `admitted` that marks calls for which a retired setting still exists. */
export function settingFeature(id: string): string {
  return `setting ${id}`;
}

export function listSettings(store: ItemStore, call: RoutedCall): Answer {
  const retired = [...RETIRED_SETTINGS.keys()].filter((id) => existsOnDay(call, id));
  const ids = [...SETTINGS.keys(), ...retired].sort();
  const settings = ids.map((id) => show(store, id, requireKind(call, id)));
  return { ...successAnswer(settings), dnsSettings: [readDnsSettings(store, 'zone')] };
}

export function showSetting(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.setting_id!;
  return successAnswer(show(store, id, requireKind(call, id)));
}

export function editSetting(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.setting_id!;
  const kind = requireKind(call, id);
  return successAnswer(edit(store, call, id, kind, fieldsOf(call.body ?? {}), ''));
}

/** Patches several settings. If one item is invalid, none is written. */
export function editSettings(store: ItemStore, call: RoutedCall): Answer {
  const { items } = validate(BulkPatch, call.body);
  const edited = items.map((item, index) => {
    const { id } = item;
    const kind = findKind(call, id);
    if (kind === undefined) {
      throw apiError('FIELD_INVALID', `There is no setting "${id}".`, `/items/${index}/id`);
    }
    return edit(store, call, id, kind, item, `/items/${index}`);
  });
  if (call.dnsSettings !== undefined) patchDnsSettings(store, 'zone', call.dnsSettings);
  return successAnswer(edited);
}

function requireKind(call: RoutedCall, id: string): SettingKind {
  const kind = findKind(call, id);
  if (kind === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no setting "${id}".`);
  return kind;
}

function findKind(call: RoutedCall, id: string): SettingKind | undefined {
  return SETTINGS.get(id) ?? (existsOnDay(call, id) ? RETIRED_SETTINGS.get(id) : undefined);
}

function existsOnDay(call: RoutedCall, id: string): boolean {
  return call.admitted.includes(settingFeature(id));
}

function show(store: ItemStore, id: string, kind: SettingKind): object {
  const stored = store.document<Stored>(`setting ${id}`);
  return {
    id,
    [kind.field ?? 'value']: stored?.value ?? kind.initial,
    editable: true,
    modified_on: stored?.modified_on ?? null,
  };
}

function edit(
  store: ItemStore,
  call: RoutedCall,
  id: string,
  kind: SettingKind,
  fields: Readonly<Record<string, unknown>>,
  pointer: string,
): object {
  const field = kind.field ?? 'value';
  const value = fields[field];
  if (value === undefined) {
    throw apiError('FIELD_MISSING', `${field} is required.`, `${pointer}/${field}`);
  }
  const checked = v.safeParse(kind.values, value);
  if (!checked.success) {
    const reason = checked.issues[0].message;
    throw apiError('FIELD_INVALID', `Setting "${id}": ${reason}.`, `${pointer}/${field}`);
  }
  store.putDocument(`setting ${id}`, { value: checked.output, modified_on: call.nowIso });
  return show(store, id, kind);
}
