// SPDX-License-Identifier: GPL-2.0
/*
 * Bulk flows through one bottleneck in ns-3, each between a pair of hosts of its own; by default one
 * through 20 Mb/s, as examples/codel.yaml has it in the lab.
 *
 * Prints the bytes that the applications have received, --since a second if asked to. As in the lab
 * the segments carry 1448 bytes, the initial window is 10 segments, every second
 * segment is acknowledged, and buffers are never the limit. Any attribute of
 * ns-3 can be changed: --ns3::TcpSocket::DelAckCount=1.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    double seconds = 90;
    double since = 0;
    double rttMs = 100;
    uint32_t pairs = 1;
    std::string rate = "20Mbps";
    std::string access = "10Gbps";
    std::string cc = "Cubic";
    std::string queue = "CoDel";
    std::string limit = "1000p";
    std::string events;
    bool ecn = true;

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    CommandLine command(__FILE__);
    command.AddValue("seconds", "length of the experiment", seconds);
    command.AddValue("since", "what comes before is not counted, s", since);
    command.AddValue("rtt", "base round trip, ms", rttMs);
    command.AddValue("pairs", "of hosts, and flows", pairs);
    command.AddValue("rate", "of the bottleneck", rate);
    command.AddValue("access", "rate of all other links", access);
    command.AddValue("cc", "congestion control: Cubic, LinuxReno, Dctcp", cc);
    command.AddValue("queue", "CoDel, Pie, Fifo", queue);
    command.AddValue("limit", "longest queue", limit);
    command.AddValue("ecn", "whether the sender asks for it and the queue marks", ecn);
    command.AddValue("events", "file for windows (packets), thresholds and marks over time", events);
    command.Parse(argc, argv);

    std::string queueDisc = "ns3::" + queue + "QueueDisc";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::Tcp" + cc)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));
    if (queue != "Fifo")
    {
        Config::SetDefault(queueDisc + "::UseEcn", BooleanValue(ecn));
    }
    Config::SetDefault(queueDisc + "::MaxSize", StringValue(limit));

    NodeContainer nodes; // a sender, two routers, its receiver; then further pairs
    nodes.Create(2 + 2 * pairs);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    auto link = [&](uint32_t from, uint32_t to, bool bottleneck) {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(bottleneck ? rate : access));
        link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(bottleneck ? 500 * rttMs : 0)));
        // What waits does so in the queue disc.
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        NetDeviceContainer ends = link.Install(nodes.Get(from), nodes.Get(to));
        if (bottleneck)
        {
            TrafficControlHelper control;
            control.SetRootQueueDisc(queueDisc);
            control.Install(ends);
        }
        Ipv4Address other = address.Assign(ends).GetAddress(1);
        address.NewNetwork();
        return other;
    };
    std::vector<std::pair<uint32_t, Ipv4Address>> flows; // senders, and whom they send to
    for (uint32_t pair = 0; pair < pairs; ++pair)
    {
        uint32_t sender = pair ? 2 + 2 * pair : 0;
        link(sender, 1, false);
        if (!pair)
        {
            link(1, 2, true);
        }
        flows.emplace_back(sender, link(2, pair ? sender + 1 : 3, false));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5001;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks;
    for (auto [sender, receiver] : flows)
    {
        sinks.Add(sink.Install(nodes.Get(sender ? sender + 1 : 3)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(1448));
        bulk.Install(nodes.Get(sender)).Start(Seconds(0));
    }

    std::ofstream record;
    if (!events.empty())
    {
        record.open(events);
        auto note = [&record](const char* what, double value) {
            record << Simulator::Now().GetNanoSeconds() << "," << what << "," << value << "\n";
        };
        Simulator::Schedule(MilliSeconds(1), [note] { // the socket exists then
            const std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
            for (auto [name, what] : {std::pair("CongestionWindow", "cwnd"),
                                      std::pair("SlowStartThreshold", "ssthresh")})
            {
                Config::ConnectWithoutContext(
                    socket + name,
                    Callback<void, uint32_t, uint32_t>([note, what](uint32_t, uint32_t bytes) {
                        note(what, bytes / 1448.0);
                    }));
            }
        });
        Config::ConnectWithoutContext(
            "/NodeList/1/$ns3::TrafficControlLayer/RootQueueDiscList/*/Mark",
            Callback<void, Ptr<const QueueDiscItem>, const char*>(
                [note](Ptr<const QueueDiscItem>, const char*) { note("mark", 1); }));
    }

    auto received = [&sinks] {
        uint64_t bytes = 0;
        for (uint32_t n = 0; n < sinks.GetN(); ++n)
        {
            bytes += DynamicCast<PacketSink>(sinks.Get(n))->GetTotalRx();
        }
        return bytes;
    };
    uint64_t before = 0;
    Simulator::Schedule(Seconds(since), [&] { before = received(); });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << received() - before << std::endl;
    Simulator::Destroy();
    return 0;
}
