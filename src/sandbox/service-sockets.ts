/** Sockets of privileged services that act on requests, and what such services run. */
const SERVICES = [
  ...["/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd", "/var/lib/incus/unix.socket"],
  ...["/var/lib/docker", "/var/lib/libvirt", "/var/spool/cron"],
];

/** What leads to services that act on requests, outside of folders that are empty anyway. */
export function serviceSockets(env: NodeJS.ProcessEnv): string[] {
  return [...SERVICES, ...socketsIn(env)];
}

/** Sockets that variables name, such as `unix:///home/ada/docker.sock`. */
function socketsIn(env: NodeJS.ProcessEnv): string[] {
  const named = [env.SSH_AUTH_SOCK, env.DOCKER_HOST, env.DBUS_SESSION_BUS_ADDRESS];
  return named.flatMap((value) => {
    const [, path] = /^(?:unix:(?:\/\/|path=))?(\/[^,;]*)/.exec(value ?? "") ?? [];
    return path === undefined ? [] : [path];
  });
}
