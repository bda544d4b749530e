// A call in the newest form, carried out: the object it belongs to answers, then follows what its route
// says: identities become resources, the directory learns what changed of them.
//
// Only a creation touches two objects, the directory first: an object without anything stored is a new
// account or zone already, so a stop in between leaves nothing half made.

import {
  type AccountIdentity,
  type Answer,
  apiError,
  type Call,
  type ZoneIdentity,
} from './call.ts';
import type { ManagementObjects } from './objects/objects.ts';
import type { Owner, Route } from './routes.ts';

export async function performed(
  objects: ManagementObjects,
  route: Route,
  call: Call,
): Promise<Answer> {
  const answer = await ownersAnswer(objects, route.owner, call);
  if (answer.status >= 400) return answer;
  switch (route.after) {
    case 'show zones':
      return shown<ZoneIdentity>(answer, (zone) =>
        objects.zone(zone.id, showing({ ...call, zone }, 'zones')),
      );
    case 'show accounts':
      return shown<AccountIdentity>(answer, (account) =>
        objects.account(account.id, showing({ ...call, account }, 'accounts')),
      );
    case 'write account': {
      const account = answer.result as AccountIdentity;
      const path = `/accounts/${account.id}`;
      return objects.account(account.id, { ...call, account, method: 'PUT', path });
    }
    case 'update zone':
      await updateIdentity(objects, call, 'zone', call.zone!.id, answer);
      return answer;
    case 'update account':
      await updateIdentity(objects, call, 'account', call.account!.id, answer);
      return answer;
    case 'erase zone': {
      const { id } = call.zone!;
      await objects.zone(id, { ...call, path: `/erased/${id}` });
      return answer;
    }
    default:
      return answer;
  }
}

function ownersAnswer(objects: ManagementObjects, owner: Owner, call: Call): Promise<Answer> {
  if (owner === 'directory') return objects.directory(call);
  if (owner === 'zone') return objects.zone(call.zone!.id, call);
  return objects.account(call.account!.id, call);
}

/** The answer with each identity of its result as the resource that its own object shows. */
async function shown<T>(answer: Answer, show: (identity: T) => Promise<Answer>): Promise<Answer> {
  const identities = (Array.isArray(answer.result) ? answer.result : [answer.result]) as T[];
  const resources = await Promise.all(identities.map(async (item) => (await show(item)).result));
  return { ...answer, result: Array.isArray(answer.result) ? resources : resources[0] };
}

function showing(call: Call, collection: 'zones' | 'accounts'): Call {
  const { id } = (collection === 'zones' ? call.zone : call.account)!;
  return { ...call, method: 'GET', path: `/${collection}/${id}` };
}

async function updateIdentity(
  objects: ManagementObjects,
  call: Call,
  kind: 'zone' | 'account',
  id: string,
  { result }: Answer,
): Promise<void> {
  const { name, type } = result as { name: string; type?: string };
  const path = `/identities/${kind}/${id}`;
  await objects.directory({ ...call, method: 'PATCH', path, body: { name, type } });
}

/** @throws ApiError 404 or 403 when the path names a zone or account that is not there for the caller */
export function requireOwner(route: Route, call: Call): void {
  const path = call.path.split('/');
  if (call.zone === undefined && path[1] === 'zones' && path[2]) {
    throw apiError('RESOURCE_UNKNOWN', `There is no zone ${path[2]}.`);
  }
  if (call.account === undefined && route.owner === 'account') {
    throw apiError('RESOURCE_UNKNOWN', `There is no account ${path[2]}.`);
  }
  if (call.account && call.visibleAccounts?.includes(call.account.id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to ${call.path}.`);
  }
}
