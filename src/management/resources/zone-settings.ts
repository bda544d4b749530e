// Zone settings: list, one, patch of one, patch of several at once.

import * as v from 'valibot';
import { type Answer, apiError, type RoutedCall, succeeded } from '../call.ts';
import type { ItemStore } from '../objects/item-store.ts';
import { validate } from '../validation.ts';
import { patchDnsSettings } from './dns-settings.ts';
import { RETIRED_SETTINGS, SETTINGS, type SettingKind } from './setting-values.ts';

const Patch = v.object({ value: v.unknown() });
const BulkPatch = v.object({
  items: v.pipe(v.array(v.object({ id: v.string(), value: v.unknown() })), v.maxLength(200)),
});

interface Stored {
  readonly value: unknown;
  readonly modified_on: string;
}

/** The name under which a change admits a retired setting. */
export function settingFeature(id: string): string {
  return `setting ${id}`;
}

export function listSettings(store: ItemStore, call: RoutedCall): Answer {
  const retired = [...RETIRED_SETTINGS.keys()].filter((id) => isAdmitted(call, id));
  const ids = [...SETTINGS.keys(), ...retired].sort();
  return succeeded(ids.map((id) => show(store, id, kindOf(call, id))));
}

export function showSetting(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.setting_id!;
  return succeeded(show(store, id, kindOf(call, id)));
}

export function editSetting(store: ItemStore, call: RoutedCall): Answer {
  const id = call.params.setting_id!;
  const kind = kindOf(call, id);
  const { value } = validate(Patch, call.body);
  return succeeded(edit(store, call, id, kind, value, ''));
}

/** All or nothing: one wrong item and none is written. */
export function editSettings(store: ItemStore, call: RoutedCall): Answer {
  const { items } = validate(BulkPatch, call.body);
  const edited = items.map(({ id, value }, index) => {
    const kind = knownKind(call, id);
    if (kind === undefined) {
      throw apiError('FIELD_INVALID', `There is no setting "${id}".`, `/items/${index}/id`);
    }
    return edit(store, call, id, kind, value, `/items/${index}`);
  });
  if (call.dnsSettings !== undefined) patchDnsSettings(store, 'zone', call.dnsSettings);
  return succeeded(edited);
}

function kindOf(call: RoutedCall, id: string): SettingKind {
  const kind = knownKind(call, id);
  if (kind === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no setting "${id}".`);
  return kind;
}

function knownKind(call: RoutedCall, id: string): SettingKind | undefined {
  return SETTINGS.get(id) ?? (isAdmitted(call, id) ? RETIRED_SETTINGS.get(id) : undefined);
}

function isAdmitted(call: RoutedCall, id: string): boolean {
  return call.admitted.includes(settingFeature(id));
}

function show(store: ItemStore, id: string, kind: SettingKind): object {
  const stored = store.document<Stored>(`setting ${id}`);
  return {
    id,
    value: stored?.value ?? kind.first,
    editable: true,
    modified_on: stored?.modified_on ?? null,
  };
}

function edit(
  store: ItemStore,
  call: RoutedCall,
  id: string,
  kind: SettingKind,
  value: unknown,
  pointer: string,
): object {
  if (value === undefined)
    throw apiError('FIELD_MISSING', 'value is required.', `${pointer}/value`);
  const checked = v.safeParse(kind.values, value);
  if (!checked.success) {
    const reason = checked.issues[0].message;
    throw apiError('FIELD_INVALID', `Setting "${id}": ${reason}.`, `${pointer}/value`);
  }
  store.putDocument(`setting ${id}`, { value: checked.output, modified_on: call.nowIso });
  return show(store, id, kind);
}
