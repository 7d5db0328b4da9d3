-- Sends bodies of files, one after the other: wrk ... -s serve.lua URL -- FOLDER CONTENT-TYPE; prints JSON at the end.

local requests, place = {}, 0

function init(args)
  for k = 0, 1e9 do
    local file = io.open(args[1] .. "/" .. k, "rb")
    if not file then break end
    requests[#requests + 1] = wrk.format("POST", nil, {["content-type"] = args[2]}, file:read("*a"))
    file:close()
  end
end

function request()
  place = place % #requests + 1
  return requests[place]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %f, "errors": %d, "p50": %f, "p99": %f}\n', summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3))
end
