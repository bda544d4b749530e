// A call in the newest form, carried out: the object it belongs to answers, then follows what its route
// says: accounts are shown by their own objects, the directory learns what changed of them.
//
// A call that touches two objects begins with the directory: an object without anything stored is a new
// account already, so a stop in between leaves nothing half made.

import type { AccountIdentity, Answer, Call } from '../call/call.ts';
import type { ManagementObjects } from '../objects/objects.ts';
import type { Owner, Route } from '../routes/routes.ts';

export async function performed(
  objects: ManagementObjects,
  route: Route,
  call: Call,
): Promise<Answer> {
  const answer = await ownersAnswer(objects, route.owner, call);
  if (answer.status >= 400) return answer;
  switch (route.after) {
    case 'show accounts':
      return shown(objects, call, answer);
    case 'write account': {
      const account = answer.result as AccountIdentity;
      const path = `/accounts/${account.id}`;
      return objects.account(account.id, { ...call, account, method: 'PUT', path });
    }
    case 'update account':
      await updateAccount(objects, call, answer);
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

/** The answer with each account of its result as its own object shows it. */
async function shown(objects: ManagementObjects, call: Call, answer: Answer): Promise<Answer> {
  const asked = (answer.result as AccountIdentity[]).map((account) => {
    const path = `/accounts/${account.id}`;
    return objects.account(account.id, { ...call, account, method: 'GET', path });
  });
  const answers = await Promise.all(asked);
  const dnsSettings = answers.flatMap((one) => one.dnsSettings ?? []);
  return { ...answer, result: answers.map(({ result }) => result), dnsSettings };
}

async function updateAccount(
  objects: ManagementObjects,
  call: Call,
  { result }: Answer,
): Promise<void> {
  const { name, type } = result as { name: string; type?: string };
  const path = `/identities/account/${call.account!.id}`;
  await objects.directory({ ...call, method: 'PATCH', path, body: { name, type } });
}
